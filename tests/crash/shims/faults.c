/* Disk faults on command: slow or failing syncs, no space. LD_PRELOAD; Linux.
 *
 * FAULT_FILE names a control file. Absent or empty: everything is as ever. Otherwise its one line is
 *     eio          fdatasync, fsync, msync fail with EIO
 *     sleep MS     they sleep MS milliseconds first
 *     dead         as eio, and writes fail with EIO, too
 *     enospc       growing a file (posix_fallocate, fallocate, ftruncate) or writing to it fails with ENOSPC
 * FAULT_MATCH, when set, limits this to files whose path holds that text (msync has no path: never limited).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static int command(char *line, size_t size)
{
    const char *name = getenv("FAULT_FILE");
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, line, size - 1);
    close(fd);
    line[got > 0 ? got : 0] = 0;
    return got > 0;
}

static int concerns(int fd)
{
    const char *match = getenv("FAULT_MATCH");
    char link[64], path[4096];
    if (!match)
        return 1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, path, sizeof path - 1);
    if (got < 0)
        return 0;
    path[got] = 0;
    return strstr(path, match) != NULL;
}

static int sync_fails(int fd)
{
    char line[64];
    if (!command(line, sizeof line) || (fd >= 0 && !concerns(fd)))
        return 0;
    if (!strncmp(line, "sleep ", 6))
        usleep((useconds_t)atoi(line + 6) * 1000);
    if (strncmp(line, "eio", 3) && strncmp(line, "dead", 4))
        return 0;
    errno = EIO;
    return 1;
}

static int write_fails(int fd)
{
    char line[64];
    if (!command(line, sizeof line) || !concerns(fd))
        return 0;
    errno = strncmp(line, "enospc", 6) ? EIO : ENOSPC;
    return !strncmp(line, "enospc", 6) || !strncmp(line, "dead", 4);
}

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

int fdatasync(int fd) { REAL(int, "fdatasync", int); return sync_fails(fd) ? -1 : real(fd); }
int fsync(int fd) { REAL(int, "fsync", int); return sync_fails(fd) ? -1 : real(fd); }
int msync(void *at, size_t size, int flags)
{
    REAL(int, "msync", void *, size_t, int);
    return sync_fails(-1) ? -1 : real(at, size, flags);
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    REAL(int, "posix_fallocate", int, off_t, off_t);
    return write_fails(fd) ? errno : real(fd, at, size);
}
int posix_fallocate64(int fd, off_t at, off_t size) { return posix_fallocate(fd, at, size); }
int fallocate(int fd, int mode, off_t at, off_t size)
{
    REAL(int, "fallocate", int, int, off_t, off_t);
    return write_fails(fd) ? -1 : real(fd, mode, at, size);
}
int fallocate64(int fd, int mode, off_t at, off_t size) { return fallocate(fd, mode, at, size); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at)
{
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    return write_fails(fd) ? -1 : real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    /* Sockets, pipes and terminals have no space to run out of. */
    return (getenv("FAULT_MATCH") && write_fails(fd)) ? -1 : real(fd, data, size);
}
