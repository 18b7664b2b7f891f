// What glibc keeps behind _GNU_SOURCE, or behind macros that Swift can't read.
#ifndef VIDFETCH_CLINUX_H
#define VIDFETCH_CLINUX_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define VF_INLINE static inline __attribute__((always_inline))

// O_TMPFILE is a macro over other macros.
static const int vf_O_TMPFILE = O_TMPFILE;

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#endif

// Renames, or fails with EEXIST where the new name is taken. The call is made by number, since
// glibc declares its wrapper only under _GNU_SOURCE, which an importer may have lost.
VF_INLINE int vf_rename_noreplace(int old_dir, const char *old_name, int new_dir,
                                  const char *new_name) {
  return (int)syscall(SYS_renameat2, old_dir, old_name, new_dir, new_name, RENAME_NOREPLACE);
}

VF_INLINE int vf_open(const char *path, int flags, unsigned mode) {
  return open(path, flags, mode);
}

VF_INLINE int vf_openat(int dir, const char *path, int flags, unsigned mode) {
  return openat(dir, path, flags, mode);
}

// Starts write-back of a range without waiting for it.
VF_INLINE int vf_start_writeback(int fd, int64_t offset, int64_t count) {
  return (int)syscall(SYS_sync_file_range, fd, offset, count, 2 /* SYNC_FILE_RANGE_WRITE */);
}

// Starts write-back of a range where that is still to be done, and waits for it.
VF_INLINE int vf_finish_writeback(int fd, int64_t offset, int64_t count) {
  return (int)syscall(SYS_sync_file_range, fd, offset, count,
                      7 /* SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER */);
}

// Puts a hole of whole blocks into a file; all that follows moves towards the end, uncopied.
VF_INLINE int vf_insert_range(int fd, int64_t offset, int64_t count) {
  return (int)syscall(SYS_fallocate, fd, 0x20 /* FALLOC_FL_INSERT_RANGE */, offset, count);
}

// Gives the room of a range back; it reads as zeros from then on, and the file keeps its size.
VF_INLINE int vf_punch_hole(int fd, int64_t offset, int64_t count) {
  return (int)syscall(SYS_fallocate, fd, 0x03 /* FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE */,
                      offset, count);
}

// Takes room for a range that is going to be written; the file keeps its size.
VF_INLINE int vf_preallocate(int fd, int64_t offset, int64_t count) {
  return (int)syscall(SYS_fallocate, fd, 0x01 /* FALLOC_FL_KEEP_SIZE */, offset, count);
}

// Whether a file stands on ext4, or one of its elders, which share its number.
VF_INLINE int vf_is_on_ext(int fd) {
  struct statfs found;
  return fstatfs(fd, &found) == 0 && found.f_type == 0xEF53;
}

// Names the calling thread; the kernel keeps 15 bytes of it.
VF_INLINE void vf_name_thread(const char *name) {
  syscall(SYS_prctl, 15 /* PR_SET_NAME */, name, 0, 0, 0);
}

// Copies bytes to the same place of another file, without them coming here where the file system can
// do that by itself; returns how many.
VF_INLINE int64_t vf_copy_range(int from, int to, int64_t offset, int64_t count) {
  int64_t source = offset, target = offset;
  return syscall(SYS_copy_file_range, from, &source, to, &target, count, 0);
}

// Takes whole blocks out of a file; all that follows moves towards the beginning, uncopied.
VF_INLINE int vf_collapse_range(int fd, int64_t offset, int64_t count) {
  return (int)syscall(SYS_fallocate, fd, 0x08 /* FALLOC_FL_COLLAPSE_RANGE */, offset, count);
}

// How much freed memory is kept for the next request, in bytes.
VF_INLINE void vf_keep_freed_memory(int trim, int mmap_threshold, int top_pad) {
  mallopt(M_TRIM_THRESHOLD, trim);
  mallopt(M_MMAP_THRESHOLD, mmap_threshold);
  mallopt(M_TOP_PAD, top_pad);
}

// A file in memory, closed on exec.
VF_INLINE int vf_memory_file(const char *name) {
  return (int)syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
}

// A pipe whose ends are closed on exec.
VF_INLINE int vf_pipe(int *ends) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }

// Has all descriptors from this one on closed on exec, also those of libraries that forgot to.
VF_INLINE int vf_close_on_exec_from(unsigned first) {
  return (int)syscall(436 /* SYS_close_range */, first, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
}
#endif
