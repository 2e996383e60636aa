/* Remembers what a power cut would leave: a second tree that holds only what was synced. LD_PRELOAD; Linux.
 *
 * PLATTER_STORE is the store that is watched, PLATTER_TREE an existing folder on the same file system that receives
 *     ino/<inode>    the content of a file as of its last successful sync
 *     tree/<path>    hard links to those: the names that would be found after the cut
 *     tmp/           copies of syncs that are still running
 * Syncing a file makes its content and, as on ext4, its present name durable. Syncing a folder makes its renames and
 * deletions durable. Nothing else survives: no unsynced byte, no unsynced rename. That is the harshest power cut that
 * the rules allow, every time. Missing on purpose: half-written pages (damage tests do those) and msync, which the
 * engine does not use.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH 4200
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The path of fd below the store ("" for the store itself), or NULL when it lies elsewhere. */
static const char *inside(int fd, char *path, size_t size)
{
    const char *store = getenv("PLATTER_STORE");
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = store ? readlink(link, path, size - 1) : -1;
    if (got < 0)
        return NULL;
    path[got] = 0;
    size_t length = strlen(store);
    if (strncmp(path, store, length) || (path[length] && path[length] != '/') || strstr(path, " (deleted)"))
        return NULL;
    return path[length] ? path + length + 1 : path + length;
}

static void make_parents(char *path)
{
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
}

/* Copies only what holds data: segments and index files are long and sparse. */
static int copy_content(int from, int to, off_t size)
{
    off_t data = 0;
    while ((data = lseek(from, data, SEEK_DATA)) >= 0 && data < size) {
        off_t end = lseek(from, data, SEEK_HOLE);
        if (lseek(to, data, SEEK_SET) < 0)
            return -1;
        while (data < end) {
            ssize_t sent = sendfile(to, from, &data, (size_t)(end - data));
            if (sent < 0)
                return -1;
            if (sent == 0)
                break;
        }
    }
    return ftruncate(to, size);
}

static void name_it(const char *tree, ino_t inode, const char *relative)
{
    char content[PATH], name[PATH], spare[PATH];
    snprintf(content, sizeof content, "%s/ino/%lu", tree, (unsigned long)inode);
    snprintf(name, sizeof name, "%s/tree/%s", tree, relative);
    snprintf(spare, sizeof spare, "%s/tmp/link-%d", tree, getpid());
    make_parents(name);
    unlink(spare);
    if (link(content, spare) == 0)
        rename(spare, name);
    unlink(spare); /* rename does nothing when both already are one file */
}

/* The content as it is before the sync: what is written while the sync runs, it does not vouch for. */
static int copy_aside(int fd, const char *copy, off_t size)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int from = open(link, O_RDONLY | O_CLOEXEC);
    int to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int copied = from >= 0 && to >= 0 && copy_content(from, to, size) == 0;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return copied;
}

struct gone {
    struct gone *next;
    char name[256];
};

/* The names on the platter that the folder has no more. */
static struct gone *names_gone(const char *shadow, const char *real)
{
    char name[PATH];
    struct stat info;
    struct gone *first = NULL;
    DIR *folder = opendir(shadow);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(name, sizeof name, "%s/%s", real, entry->d_name);
        struct gone *one = lstat(name, &info) != 0 ? malloc(sizeof *one) : NULL;
        if (one) {
            snprintf(one->name, sizeof one->name, "%s", entry->d_name);
            one->next = first;
            first = one;
        }
    }
    if (folder)
        closedir(folder);
    return first;
}

/* A file that is just being renamed has its old name or its new one, never none: what was gone at first is taken
 * away at last, when its new name is known. A kill in between leaves both. */
static void remember_folder(const char *tree, const char *real, const char *relative)
{
    char name[PATH], shadow[PATH];
    struct stat info, content;
    snprintf(shadow, sizeof shadow, "%s/tree/%s", tree, relative);
    struct gone *gone = names_gone(shadow, real);
    DIR *folder;
    folder = opendir(real);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(name, sizeof name, "%s/%s", real, entry->d_name);
        if (lstat(name, &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        snprintf(name, sizeof name, "%s/ino/%lu", tree, (unsigned long)info.st_ino);
        if (stat(name, &content) != 0) { /* named, but never synced itself: found empty */
            int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            if (fd >= 0)
                close(fd);
        }
        snprintf(name, sizeof name, "%s%s%s", relative, *relative ? "/" : "", entry->d_name);
        name_it(tree, info.st_ino, name);
    }
    if (folder)
        closedir(folder);
    for (struct gone *next; gone; gone = next) {
        snprintf(name, sizeof name, "%s/%s", real, gone->name);
        if (lstat(name, &info) != 0) {
            snprintf(name, sizeof name, "%s/%s", shadow, gone->name);
            unlink(name);
        }
        next = gone->next;
        free(gone);
    }
}

static int remember(int fd, int (*sync)(int))
{
    const char *tree = getenv("PLATTER_TREE");
    char path[PATH], copy[PATH], content[PATH];
    struct stat info;
    if (!tree || !inside(fd, path, sizeof path) || fstat(fd, &info) != 0)
        return sync(fd);
    int is_file = S_ISREG(info.st_mode);
    snprintf(copy, sizeof copy, "%s/tmp/copy-%lu", tree, (unsigned long)pthread_self());
    snprintf(content, sizeof content, "%s/ino/%lu", tree, (unsigned long)info.st_ino);
    int copied = is_file && copy_aside(fd, copy, info.st_size);
    int result = sync(fd), kept = errno;
    const char *relative = result == 0 ? inside(fd, path, sizeof path) : NULL;
    pthread_mutex_lock(&one_at_a_time);
    if (relative && copied && rename(copy, content) == 0)
        name_it(tree, info.st_ino, relative);
    else if (relative && S_ISDIR(info.st_mode))
        remember_folder(tree, path, relative);
    pthread_mutex_unlock(&one_at_a_time);
    errno = kept;
    return result;
}

int fdatasync(int fd)
{
    static int (*real)(int);
    if (!real)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return remember(fd, real);
}

int fsync(int fd)
{
    static int (*real)(int);
    if (!real)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return remember(fd, real);
}
