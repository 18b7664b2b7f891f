// SQLite, and what Swift can't import of it.
#ifndef VIDFETCH_CSQLITE_H
#define VIDFETCH_CSQLITE_H
#include <sqlite3.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#if SQLITE_VERSION_NUMBER < 3037000
#error "SQLite 3.37 or newer is needed (STRICT tables, SQLITE_OPEN_EXRESCODE)"
#endif

#define VF_SQLITE static inline __attribute__((always_inline))

// The text is copied: SQLITE_TRANSIENT is a cast that Swift can't read. An empty one may have no
// address, which would bind NULL.
VF_SQLITE int vf_bind_text(sqlite3_stmt *statement, int index, const char *text, uint64_t count) {
  return sqlite3_bind_text64(statement, index, text ? text : "", count, SQLITE_TRANSIENT,
                             SQLITE_UTF8);
}

// Reads the database file's own bytes through SQLite: no lock is taken, nothing is recovered, and no
// descriptor of ours is closed, which would drop every lock of this process on the file (fcntl(2)).
VF_SQLITE int vf_read_file(sqlite3 *database, void *bytes, int count, int64_t *size) {
  sqlite3_file *file = 0;
  int result = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (result != SQLITE_OK) return result;
  if (!file || !file->pMethods) return SQLITE_CANTOPEN;
  sqlite3_int64 found = 0;
  result = file->pMethods->xFileSize(file, &found);
  *size = found;
  if (result != SQLITE_OK || found == 0) return result;
  // What is missing at the end of a short file is filled with zeros.
  result = file->pMethods->xRead(file, bytes, count, 0);
  return result == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : result;
}

// statfs(2)'s f_type; 0 where the call fails and errno says why.
VF_SQLITE uint32_t vf_file_system_magic(const char *path) {
  struct statfs status;
  return statfs(path, &status) == 0 ? (uint32_t)status.f_type : 0;
}
VF_SQLITE uint32_t vf_device_major(uint64_t device) { return major(device); }
VF_SQLITE uint32_t vf_device_minor(uint64_t device) { return minor(device); }
#endif
