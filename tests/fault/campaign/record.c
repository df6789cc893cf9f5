/* SPDX-License-Identifier: MIT
 *
 * The record, the clock, and what a task says: what all processes of a campaign share.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "campaign.h"

#define FAULT_NAME(fault, name) name,
const char *const fault_names[FAULT_COUNT] = {FAULTS(FAULT_NAME)};
#undef FAULT_NAME
const char *const queue_names[ALL_QUEUES] = {"bolts", "nuts", "screws", "anchors"};

static int record_fd = -1;

void sleep_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

struct random random_of(const struct campaign *c, const char *life)
{
    uint64_t seed = c->seed;
    for (const char *at = life; *at; at++)
        seed = seed * 31 + (unsigned char)*at;
    return random_from(seed);
}

void record_open(const char *path)
{
    if (record_fd >= 0)
        close(record_fd);
    record_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (record_fd < 0) {
        perror(path);
        exit(2);
    }
}

void record_write(char kind, const char *name, uint64_t token, const char *life, const char *word)
{
    char text[200];
    int n =
        snprintf(text, sizeof text, "%c %s %" PRIu64 " %s %" PRId64 " %s\n", kind, name, token, life, now_ms(), word);
    if (write(record_fd, text, (size_t)n) != n) {
        perror("the record");
        _exit(2);
    }
}

void work_write(struct work *w, char task[TASK_MAX])
{
    int n = snprintf(task, TASK_MAX, "%s %c %d %d\n", w->name, w->mode, w->ms, w->len);
    if (w->len < n) {
        w->len = n;
        snprintf(task, TASK_MAX, "%s %c %d %d\n", w->name, w->mode, w->ms, w->len);
    }
    for (int i = n; i < w->len; i++)
        task[i] = (char)(i * 7);
}

bool work_read(struct work *w, const void *task, size_t len)
{
    char words[NAME_MAX_LEN + 40];
    const char *bytes = task;
    snprintf(words, sizeof words, "%.*s", len < sizeof words ? (int)len : (int)sizeof words - 1, bytes);
    if (sscanf(words, "%47s %c %d %d", w->name, &w->mode, &w->ms, &w->len) != 4 || (size_t)w->len != len)
        return false;
    for (size_t i = (size_t)(strchr(words, '\n') - words) + 1; i < len; i++)
        if (bytes[i] != (char)(i * 7))
            return false;
    return true;
}

_Noreturn void work_poison(const char *life, pid_t pid)
{
    record_write('F', "-", 0, life, fault_names[FAULT_POISON]);
    kill(pid ? pid : getpid(), POISON_SIGNAL);
    for (;;)
        pause();
}

const char *work_outcome(const struct work *w, uint64_t token)
{
    if (w->mode == 'f')
        return "fail";
    if (token % 2 && w->mode == 'r')
        return "retry";
    return token % 2 && w->mode == 'b' ? "back" : "finish";
}
