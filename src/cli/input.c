/* SPDX-License-Identifier: MIT
 *
 * Reads standard input and splits it. Tasks point into the buffer, which only moves when the next bytes are read.
 */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "need.h"
#include "progress.h"

#define SIZE_MIN ((size_t)1024 * 1024)
#define TASKS_MIN 1024

static void make_room(struct input *in)
{
    if (in->size > 0 && in->len <= in->size / 2)
        return;
    in->size = in->size ? in->size * 2 : SIZE_MIN;
    in->data = need(realloc(in->data, in->size));
}

/* A file may have been read in part by others, and may grow. */
double input_part(const struct input *in)
{
    struct stat file;
    if (fstat(STDIN_FILENO, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0)
        return -1;
    double part = (double)in->n_read / (double)file.st_size;
    return part < 1 ? part : 1;
}

/* Reads once, and returns what read(2) returned. */
static ssize_t read_some(struct input *in)
{
    make_room(in);
    char *added = in->data + in->len;
    if (progress_wait_for_input(STDIN_FILENO, -1) < 0 && errno == EINTR)
        return -1; /* of anything else the read says what is wrong */
    ssize_t n = read(STDIN_FILENO, added, in->size - in->len);
    if (n <= 0) {
        in->ended = n == 0;
        return n;
    }
    in->len += (size_t)n;
    in->n_read += (size_t)n;
    if (in->at_once)
        progress_show_part("bytes read", in->n_read, input_part(in));
    const char *last = in->delimiter == INPUT_WHOLE ? NULL : memrchr(added, in->delimiter, (size_t)n);
    if (last)
        in->tail = (size_t)(last + 1 - in->data);
    return n;
}

/* Reads until a task is complete, or with `at_once` everything. Stops early at a task that is too long already. */
static bool fill(struct input *in)
{
    ssize_t n = 1;
    while (n > 0 && in->len - in->tail <= MUSTER_TASK_MAX_DEFAULT && (in->at_once || in->tail == 0))
        n = read_some(in);
    return n >= 0;
}

static bool add_task(struct input *in, size_t len)
{
    if (len > MUSTER_TASK_MAX_DEFAULT)
        return false;
    if (in->n == in->n_max) {
        in->n_max = in->n_max ? in->n_max * 2 : TASKS_MIN;
        in->tasks = need(reallocarray(in->tasks, in->n_max, sizeof *in->tasks));
    }
    in->tasks[in->n++] = (struct muster_bytes){in->data + in->given, len};
    in->given += len;
    return true;
}

static bool split(struct input *in)
{
    while (in->given < in->tail) {
        const char *from = in->data + in->given;
        const char *end = memchr(from, in->delimiter, in->tail - in->given);
        if (!add_task(in, (size_t)(end - from)))
            return false;
        in->given++;
    }
    size_t rest = in->len - in->given;
    if (in->ended && (rest > 0 || in->delimiter == INPUT_WHOLE))
        return add_task(in, rest);
    return rest <= MUSTER_TASK_MAX_DEFAULT;
}

enum input_state input_next(struct input *in)
{
    in->len -= in->given;
    if (in->given > 0)
        memmove(in->data, in->data + in->given, in->len);
    in->n = in->given = in->tail = 0;
    if (!fill(in))
        return INPUT_FAILED;
    if (!split(in))
        return INPUT_TOO_LONG;
    return in->ended ? INPUT_END : INPUT_MORE;
}

void input_clear(struct input *in)
{
    free(in->tasks);
    free(in->data);
}
