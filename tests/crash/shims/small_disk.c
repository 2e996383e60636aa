/* A disk of a chosen size for one folder, where no file system can be mounted. LD_PRELOAD; Linux.
 *
 * DISK_ROOT names the folder (its real path), DISK_FILE a control file with one line of two numbers:
 *     TOTAL OTHERS
 * the size of the disk in bytes, and how much of it others have taken. What the folder's files occupy comes on
 * top. statvfs and fstatvfs of anything in the folder tell so; growing a file there (posix_fallocate, fallocate,
 * ftruncate, write, pwrite past its end) fails with ENOSPC when it does not fit. Deleting files makes room, as
 * on a real disk. Without a control file everything is as ever.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BLOCK 4096

static int is_inside(const char *path)
{
    const char *root = getenv("DISK_ROOT");
    size_t size = root ? strlen(root) : 0;
    return size && !strncmp(path, root, size) && (path[size] == '/' || path[size] == 0);
}

static int fd_is_inside(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, path, sizeof path - 1);
    if (got <= 0 || path[0] != '/')
        return 0;
    path[got] = 0;
    return is_inside(path);
}

static long long occupied(const char *folder)
{
    long long sum = 0;
    struct dirent *entry;
    DIR *open = opendir(folder);
    if (!open)
        return 0;
    while ((entry = readdir(open))) {
        char path[PATH_MAX];
        struct stat found;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        if (lstat(path, &found)) /* deleted meanwhile */
            continue;
        sum += S_ISDIR(found.st_mode) ? occupied(path) : (long long)found.st_blocks * 512;
    }
    closedir(open);
    return sum;
}

/* Whether there is a disk to pretend; how large it is and how much of it is free. */
static int look(long long *total, long long *free_bytes)
{
    const char *name = getenv("DISK_FILE"), *root = getenv("DISK_ROOT");
    char line[64] = "";
    long long others;
    int fd = name && root ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, line, sizeof line - 1);
    close(fd);
    if (got <= 0 || sscanf(line, "%lld %lld", total, &others) != 2)
        return 0;
    *free_bytes = *total - others - occupied(root);
    if (*free_bytes < 0)
        *free_bytes = 0;
    return 1;
}

static void pretend(struct statvfs *found)
{
    long long total, free_bytes;
    if (!look(&total, &free_bytes))
        return;
    found->f_bsize = found->f_frsize = BLOCK;
    found->f_blocks = total / BLOCK;
    found->f_bfree = found->f_bavail = free_bytes / BLOCK;
}

/* `end`: how far the file would reach; `fills`: with all of it on the disk, not only what lies past its end. */
static int has_no_room(int fd, long long end, int fills)
{
    struct stat found;
    long long total, free_bytes;
    int before = errno;
    if (fstat(fd, &found) || !S_ISREG(found.st_mode) || !fd_is_inside(fd))
        return errno = before, 0;
    long long more = end - (long long)found.st_blocks * 512;
    if ((!fills && end <= found.st_size) || more <= 0 || !look(&total, &free_bytes) || more <= free_bytes)
        return errno = before, 0;
    errno = ENOSPC;
    return 1;
}

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

int statvfs(const char *path, struct statvfs *found)
{
    REAL(int, "statvfs", const char *, struct statvfs *);
    char whole[PATH_MAX];
    int answer = real(path, found);
    if (!answer && realpath(path, whole) && is_inside(whole))
        pretend(found);
    return answer;
}
int statvfs64(const char *path, struct statvfs64 *found) { return statvfs(path, (struct statvfs *)found); }
int fstatvfs(int fd, struct statvfs *found)
{
    REAL(int, "fstatvfs", int, struct statvfs *);
    int answer = real(fd, found);
    if (!answer && fd_is_inside(fd))
        pretend(found);
    return answer;
}
int fstatvfs64(int fd, struct statvfs64 *found) { return fstatvfs(fd, (struct statvfs *)found); }

int posix_fallocate(int fd, off_t at, off_t size)
{
    REAL(int, "posix_fallocate", int, off_t, off_t);
    return has_no_room(fd, at + size, 1) ? ENOSPC : real(fd, at, size);
}
int posix_fallocate64(int fd, off_t at, off_t size) { return posix_fallocate(fd, at, size); }
int fallocate(int fd, int mode, off_t at, off_t size)
{
    REAL(int, "fallocate", int, int, off_t, off_t);
    return has_no_room(fd, at + size, 1) ? -1 : real(fd, mode, at, size);
}
int fallocate64(int fd, int mode, off_t at, off_t size) { return fallocate(fd, mode, at, size); }
int ftruncate(int fd, off_t size)
{
    REAL(int, "ftruncate", int, off_t);
    return has_no_room(fd, size, 0) ? -1 : real(fd, size);
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    return has_no_room(fd, at + (long long)size, 0) ? -1 : real(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return pwrite(fd, data, size, at); }
ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    off_t at = lseek(fd, 0, SEEK_CUR);
    return at >= 0 && has_no_room(fd, at + (long long)size, 0) ? -1 : real(fd, data, size);
}
