/*
 * The door to libavformat, libavcodec and libavutil for Swift: the headers, and the macros and
 * flexible spots that Swift's importer cannot read. Nothing here keeps state or decides anything.
 */
#ifndef VIDFETCH_CFFMPEG_H
#define VIDFETCH_CFFMPEG_H

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/display.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/error.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/log.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mathematics.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/spherical.h>
#include <libavutil/stereo3d.h>

static const int cff_error_eof = AVERROR_EOF;
static const int cff_error_again = AVERROR(EAGAIN);
static const int cff_error_exit = AVERROR_EXIT;
static const int cff_error_io = AVERROR(EIO);
static const int cff_error_permission = AVERROR(EPERM);
static const int cff_error_no_memory = AVERROR(ENOMEM);
static const int cff_error_not_implemented = AVERROR(ENOSYS);
static const int cff_error_invalid_argument = AVERROR(EINVAL);
static const int cff_error_no_space = AVERROR(ENOSPC);
static const int cff_error_invalid_data = AVERROR_INVALIDDATA;
static const int cff_error_demuxer_not_found = AVERROR_DEMUXER_NOT_FOUND;

static const int64_t cff_no_timestamp = AV_NOPTS_VALUE;
static const int64_t cff_time_base = AV_TIME_BASE;

/* The level that the log callback keeps. */
static const int cff_log_error = AV_LOG_ERROR;

/* Whether a log line's context is a demuxer, as opposed to a decoder, a parser or a muxer. */
static inline int cff_is_demuxer(void *context) {
  const AVClass *cls = context ? *(const AVClass **)context : NULL;
  return cls && cls->get_category && cls->get_category(context) == AV_CLASS_CATEGORY_DEMUXER;
}

/* AVIndexEntry packs its flags and its size into bit fields. */
static inline int cff_index_size(const AVIndexEntry *entry) { return entry->size; }

static inline unsigned cff_le32(const uint8_t *bytes) { return AV_RL32(bytes); }

#endif
