/* SPDX-License-Identifier: MIT
 *
 * Writes the configuration of a redis-server and starts it. The configuration is passed on its standard input, because
 * older releases split a path with spaces on the command line. Its standard output is the log file, so that complaints
 * about the configuration, and those of the dynamic loader, are in the log, too.
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

/* A queue is not a cache: Redis must never evict, and what it acknowledged must be on disk a second later. A temporary
 * Redis keeps nothing for later. */
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
    if (place->is_node)
        fputs("cluster-enabled yes\n"
              "cluster-config-file nodes.conf\n"
              "cluster-announce-ip 127.0.0.1\n"
              "cluster-node-timeout 5000\n",
              f);
    if (place->socket[0])
        write_quoted(f, "unixsocket", place->socket);
    write_quoted(f, "dir", place->dir);
}

/* Returns an open file with the settings, to be read from its beginning, or -1 with errno. */
static int make_settings(const struct place *place)
{
    int fd = memfd_create("redis.conf", MFD_CLOEXEC);
    int copy = fd < 0 ? -1 : dup(fd);
    FILE *f = copy < 0 ? NULL : fdopen(copy, "w");
    int why = errno;
    if (f) {
        write_settings(f, place);
        bool failed = fclose(f) != 0 || lseek(fd, 0, SEEK_SET) < 0;
        if (!failed)
            return fd;
        why = errno;
    } else if (copy >= 0) {
        close(copy);
    }
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

/* Runs in the child. Returns only if redis-server cannot be run. */
static void become_redis(const struct place *place, int settings, pid_t parent, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* the parent ended before the line above */
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
