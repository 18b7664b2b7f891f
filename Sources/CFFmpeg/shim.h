#ifndef VIDFETCH_CFFMPEG_H
#define VIDFETCH_CFFMPEG_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#endif
