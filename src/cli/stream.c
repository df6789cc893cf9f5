/* SPDX-License-Identifier: MIT
 *
 * A reader who takes his time gets all; one who never reads does not keep the program from ending.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "now.h"

/* A signal may come just before the wait, and would not end it: so it looks again. */
#define LOOK_MS 200
#define PATIENCE_MS 5000

/* ---- without waiting ---- */

int stream_open(int fd)
{
    char path[40];
    struct stat st;
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) /* it would be opened for writing all the same */
        return -1;
    if (fstat(fd, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A piece that a pipe or socket takes whole, or not at all, if it takes anything. */
static size_t piece_len(size_t len)
{
    return len < PIPE_BUF ? len : PIPE_BUF;
}

bool stream_has_room(int fd, int patience_ms)
{
    struct pollfd output = {.fd = fd, .events = POLLOUT};
    return poll(&output, 1, patience_ms) > 0;
}

ssize_t stream_now(int fd, int unwaiting, const char *data, size_t len)
{
    ssize_t n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0 || errno != ENOTSOCK)
        return n;
    if (unwaiting >= 0)
        return write(unwaiting, data, len);
    if (stream_has_room(fd, 0))
        return write(fd, data, piece_len(len));
    errno = EAGAIN;
    return -1;
}

/* ---- with patience ---- */

/* The two, by their number. */
static struct {
    bool is_ready, is_file, has_given_up; /* nobody has read when it was to end */
    int unwaiting;
} streams[STDERR_FILENO + 1];

static volatile sig_atomic_t is_hurried;
static int64_t end_patience_ms = PATIENCE_MS;

void stream_set_patience(const struct call *call)
{
    const struct opt_value *timeout = &call->common[OPT_TIMEOUT];
    end_patience_ms = timeout->number;
    if (timeout->set && !timeout->from_environment && end_patience_ms > PATIENCE_MS)
        end_patience_ms = PATIENCE_MS;
}

void stream_hurry(void)
{
    is_hurried = 1;
}

void stream_ready(int fd)
{
    struct stat st;
    if (streams[fd].is_ready)
        return;
    streams[fd].is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    streams[fd].unwaiting = stream_open(fd);
    streams[fd].is_ready = true;
}

/* A file takes a line whole: lines of several programs must not mix there. */
static ssize_t write_now(int fd, const char *data, size_t len)
{
    return streams[fd].is_file ? write(fd, data, len) : stream_now(fd, streams[fd].unwaiting, data, len);
}

void stream_try(int fd, const char *data, size_t len)
{
    (void)!write_now(fd, data, len);
}

static bool is_to_end(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t held;
    bool is_held = false;
    sigpending(&held);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is_held |= sigismember(&held, ends[i]) == 1;
    return is_hurried || is_held;
}

static bool wait_for_room(int fd)
{
    bool *has_given_up = &streams[fd].has_given_up;
    int64_t since_ms = 0;
    while (!stream_has_room(fd, *has_given_up ? 0 : LOOK_MS)) {
        const int64_t now = now_ms();
        if (!*has_given_up && !is_to_end())
            continue;
        if (since_ms == 0)
            since_ms = now;
        *has_given_up |= now - since_ms >= end_patience_ms;
        if (*has_given_up)
            return false;
    }
    return true;
}

bool stream_write(int fd, const char *data, size_t len, size_t *done)
{
    stream_ready(fd);
    for (*done = 0; *done < len;) {
        const ssize_t n = write_now(fd, data + *done, len - *done);
        if (n > 0) {
            *done += (size_t)n;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        } else if (!wait_for_room(fd)) {
            errno = ETIMEDOUT;
            return false;
        }
    }
    return true;
}
