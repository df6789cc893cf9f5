/* SPDX-License-Identifier: MIT
 *
 * Writes the configuration of a redis-server and starts it. The configuration comes on its standard input: on the
 * command line older releases split a path at its spaces. It logs to its standard output, which is the log file, so
 * that what it says about a bad configuration, or what the kernel's loader says, is there too.
 */
#include "serve_redis.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static void write_quoted(FILE *f, const char *name, const char *text)
{
    fprintf(f, "%s \"", name);
    for (; *text; text++)
        fprintf(f, "\\x%02x", (unsigned char)*text);
    fputs("\"\n", f);
}

/* Never to evict, and to have on disk what was acknowledged a second ago: a queue is not a cache. A temporary one keeps
 * nothing for later. */
static void write_settings(FILE *f, const struct place *place)
{
    fputs("bind 127.0.0.1\n"
          "protected-mode yes\n"
          "daemonize no\n"
          "logfile \"\"\n"
          "save \"\"\n"
          "maxmemory-policy noeviction\n"
          "appendfsync everysec\n"
          "unixsocketperm 700\n",
          f);
    fprintf(f, "appendonly %s\nport %d\n", place->is_temporary ? "no" : "yes", place->port);
    if (place->socket[0])
        write_quoted(f, "unixsocket", place->socket);
    write_quoted(f, "dir", place->dir);
}

/* An open file with the settings, to be read from its beginning; -1 with errno. */
static int make_settings(const struct place *place)
{
    int fd = memfd_create("redis.conf", MFD_CLOEXEC);
    int copy = fd < 0 ? -1 : dup(fd);
    FILE *f = copy < 0 ? NULL : fdopen(copy, "w");
    if (!f) {
        close(copy);
        close(fd);
        return -1;
    }
    write_settings(f, place);
    bool failed = fclose(f) != 0 || lseek(fd, 0, SEEK_SET) < 0;
    if (!failed)
        return fd;
    close(fd);
    return -1;
}

/* In the child; comes back only if there is no redis-server. */
static void become_redis(const struct place *place, int settings, pid_t parent, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it ended before the line above */
        _exit(0);
    dup2(settings, STDIN_FILENO);
    dup2(place->log, STDOUT_FILENO);
    dup2(place->log, STDERR_FILENO);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execlp("redis-server", "redis-server", "-", (char *)NULL);
    dprintf(STDERR_FILENO, "redis-server cannot be run: %s\n", strerror(errno));
}

pid_t serve_redis_start(const struct place *place, const sigset_t *mask)
{
    pid_t parent = getpid();
    int settings = make_settings(place);
    if (settings < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        become_redis(place, settings, parent, mask);
        _exit(REDIS_NOT_RUN);
    }
    close(settings);
    return pid;
}
