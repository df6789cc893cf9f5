/* SPDX-License-Identifier: MIT
 *
 * Prepares and cleans up the place of a Redis. Two of them in one directory would ruin each other's data, so it is
 * locked, and the log, too: Redis inherits that lock with its output, so it holds while either of the two lives, but
 * somebody may remove a log. Redis takes over the path of its socket without a check, so the check is here.
 */
#include "serve_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "complain.h"

_Static_assert(sizeof((struct sockaddr_un *)NULL)->sun_path == PLACE_SOCKET_SIZE, "a socket's path fits");

/* ---- the directory ---- */

/* Like `mkdir -p -m 700`. Changes and restores `path`. */
static int make_directories(char *path, bool *is_new)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed)
            return -1;
    }
    *is_new = mkdir(path, 0700) == 0;
    return *is_new || errno == EEXIST ? 0 : -1;
}

static int cannot_use(const struct call *call, const char *path)
{
    complain_refusal(call, COMPLAIN_SYSTEM, "cannot use '%s': %s; name another directory with --dir", path,
                     strerror(errno));
    return EXIT_FAILED;
}

static int set_directory(const struct call *call, struct place *place, char *path)
{
    if (make_directories(path, &place->is_new) == 0 && realpath(path, place->dir))
        return EXIT_DONE;
    place->dir[0] = '\0';
    return cannot_use(call, path);
}

static int named_directory(const struct call *call, struct place *place, const char *dir)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", dir) < (int)sizeof path)
        return set_directory(call, place, path);
    errno = ENAMETOOLONG;
    return cannot_use(call, dir);
}

/* The specification says that a relative XDG_DATA_HOME must be ignored. */
static int default_directory(const struct call *call, struct place *place)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char path[PATH_MAX];
    if (data && *data == '/')
        snprintf(path, sizeof path, "%s/muster", data);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.local/share/muster", home);
    else {
        complain_refusal(call, COMPLAIN_SYSTEM,
                         "HOME is not set; name a directory for the data with --dir, or use --temporary");
        return EXIT_FAILED;
    }
    return set_directory(call, place, path);
}

static int temporary_directory(const struct call *call, struct place *place)
{
    const char *parent = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/muster-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(path) && realpath(path, place->dir))
        return EXIT_DONE;
    complain_refusal(call, COMPLAIN_SYSTEM, "cannot make '%s': %s; set TMPDIR to a directory that exists", path,
                     strerror(errno));
    place->dir[0] = '\0';
    return EXIT_FAILED;
}

/* One that was refused removes the directory that it has made, maybe between another one's open and lock: nobody finds
 * what that one has locked. */
static bool is_there(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* -1: not; errno is EWOULDBLOCK if another one has locked it. */
static int open_locked(const char *path, int how)
{
    for (;;) {
        int fd = open(path, how | O_CLOEXEC, 0600);
        if (fd < 0)
            return -1;
        bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        int why = errno;
        if (is_locked && is_there(fd, path))
            return fd;
        close(fd);
        errno = why;
        if (!is_locked)
            return -1;
    }
}

static bool lock_directory(struct place *place)
{
    place->lock = open_locked(place->dir, O_RDONLY | O_DIRECTORY);
    return place->lock >= 0;
}

int serve_place_open_log(const struct call *call, struct place *place)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/redis.log", place->dir);
    if (lock_directory(place) && (place->log = open_locked(path, O_RDWR | O_CREAT | O_APPEND)) >= 0)
        return EXIT_DONE;
    if (errno != EWOULDBLOCK)
        return cannot_use(call, path);
    complain_refusal(call, COMPLAIN_SYSTEM,
                     "'%s' is in use by another `muster serve`; name another directory with --dir", place->dir);
    return EXIT_FAILED;
}

/* ---- its addresses ---- */

/* Leaves the reason in errno. */
bool serve_place_is_port_free(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
                   bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return is_free;
}

static int refuse_port(const struct call *call, int port, int why)
{
    if (why == EADDRINUSE)
        complain_refusal(call, COMPLAIN_SYSTEM,
                         "port %d is in use, maybe by a Redis that you can use; choose another with --port", port);
    else
        complain_refusal(call, COMPLAIN_SYSTEM, "cannot listen on port %d: %s; choose another with --port", port,
                         strerror(why));
    return EXIT_FAILED;
}

int serve_place_check_port(const struct call *call, int port)
{
    return serve_place_is_port_free(port) ? EXIT_DONE : refuse_port(call, port, errno);
}

/* Of two that begin at once both would find an address free. So there is one name for each, in no directory: it goes with
 * this process. Leaves the reason in errno. */
static bool hold(int *held, struct sockaddr_un *name)
{
    name->sun_family = AF_UNIX;
    *held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return *held >= 0 && bind(*held, (const struct sockaddr *)name, sizeof *name) == 0;
}

int serve_place_take_port(const struct call *call, struct place *place)
{
    struct sockaddr_un name = {.sun_path = ""};
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "muster:port:%d", place->port);
    return hold(&place->held_port, &name) ? serve_place_check_port(call, place->port)
                                          : refuse_port(call, place->port, errno);
}

static int refuse_socket(const struct call *call, const char *path, int why)
{
    if (why == EADDRINUSE || why == EAGAIN)
        complain_refusal(call, COMPLAIN_SYSTEM, "the socket '%s' is in use; name another with --socket", path);
    else
        complain_refusal(call, COMPLAIN_SYSTEM,
                         "cannot tell whether the socket '%s' is in use: %s; name another with --socket", path,
                         strerror(why));
    return EXIT_FAILED;
}

/* Free is only one of which it is known that nobody listens: it may be another user's, or no Redis'. */
static int check_socket(const struct call *call, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (lstat(path, &info) != 0)
        return EXIT_DONE;
    if (!S_ISSOCK(info.st_mode)) {
        complain_refusal(call, COMPLAIN_SYSTEM, "'%s' exists and is not a socket; name another with --socket", path);
        return EXIT_FAILED;
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int why = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? EADDRINUSE : errno;
    if (fd >= 0)
        close(fd);
    return why == ECONNREFUSED || why == ENOENT ? EXIT_DONE : refuse_socket(call, path, why);
}

/* Containers may call two directories by one name, but their numbers differ. */
static int hold_socket(const struct call *call, struct place *place, const char *parent, const char *file)
{
    struct sockaddr_un name = {.sun_path = ""};
    struct stat dir;
    if (stat(parent, &dir) != 0)
        return refuse_socket(call, place->socket, errno);
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "muster:%jx:%jx:%.64s", (uintmax_t)dir.st_dev,
             (uintmax_t)dir.st_ino, file);
    return hold(&place->held, &name) ? EXIT_DONE : refuse_socket(call, place->socket, errno);
}

/* Makes the path absolute, so that it is the same from every directory. Its parent directory must exist. */
static int set_socket(const struct call *call, struct place *place, const char *path)
{
    char parent[PATH_MAX] = ".", real[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (slash)
        snprintf(parent, sizeof parent, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (!*name || !realpath(parent, real)) {
        complain_refusal(call, COMPLAIN_SYSTEM, "cannot make a socket at '%s': %s", path,
                         *name ? strerror(errno) : "it is a directory");
        return EXIT_FAILED;
    }
    int len = snprintf(place->socket, sizeof place->socket, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    if (len < PLACE_SOCKET_SIZE) {
        int code = hold_socket(call, place, real, name);
        return code ? code : check_socket(call, place->socket);
    }
    complain_refusal(call, COMPLAIN_SYSTEM,
                     "'%s/%s' is %d bytes too long for a socket; name a shorter one with --socket", real, name,
                     len + 1 - PLACE_SOCKET_SIZE);
    return EXIT_FAILED;
}

/* Characters with a meaning in a shell or a URL are escaped. */
static void set_url(struct place *place)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
    if (place->port) {
        snprintf(place->url, sizeof place->url, "redis://127.0.0.1:%d", place->port);
        return;
    }
    size_t len = (size_t)snprintf(place->url, sizeof place->url, "unix://");
    for (const char *c = place->socket; *c; c++)
        len += (size_t)snprintf(place->url + len, sizeof place->url - len, strchr(plain, *c) ? "%c" : "%%%02X",
                                (unsigned char)*c);
}

/* ---- all of it ---- */

int serve_place_open_directory(const struct call *call, struct place *place, const char *dir)
{
    return place->is_temporary ? temporary_directory(call, place)
           : dir               ? named_directory(call, place, dir)
                               : default_directory(call, place);
}

int serve_place_open(const struct call *call, struct place *place, const char *dir, const char *socket)
{
    char inside[PATH_MAX + 16];
    int code = serve_place_open_directory(call, place, dir);
    if (!code && place->port)
        code = serve_place_take_port(call, place);
    if (!code && !socket && !place->port) {
        snprintf(inside, sizeof inside, "%s/redis.sock", place->dir);
        socket = inside;
    }
    if (!code && socket)
        code = set_socket(call, place, socket);
    if (!code)
        code = serve_place_open_log(call, place);
    set_url(place);
    return code;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

/* With no more in it than a log without a line, which is this one's. But not if another one begins in it. */
static void remove_if_unused(struct place *place)
{
    char path[PATH_MAX + 16];
    struct stat log;
    if (place->lock < 0 && !lock_directory(place))
        return;
    snprintf(path, sizeof path, "%s/redis.log", place->dir);
    if (place->log >= 0 && fstat(place->log, &log) == 0 && log.st_size == 0)
        unlink(path);
    rmdir(place->dir);
}

void serve_place_close(struct place *place)
{
    if (place->is_new && !place->is_temporary)
        remove_if_unused(place);
    if (place->log >= 0)
        close(place->log);
    if (place->lock >= 0)
        close(place->lock);
    if (place->held >= 0)
        close(place->held);
    if (place->held_port >= 0)
        close(place->held_port);
    if (place->is_temporary && place->dir[0]) /* needs a descriptor, of which there may have been no more */
        nftw(place->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void serve_place_last_line(const struct place *place, char *out, size_t size)
{
    char text[2048];
    off_t end = lseek(place->log, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t len = pread(place->log, text, sizeof text, from);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    const char *newline = len > 0 ? memrchr(text, '\n', (size_t)len) : NULL;
    const char *line = newline ? newline + 1 : text;
    snprintf(out, size, "%.*s", len > 0 ? (int)(text + len - line) : 0, line);
}
