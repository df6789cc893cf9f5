/* SPDX-License-Identifier: MIT
 *
 * gearmand's player, by its binary protocol, with as many requests unanswered as help. Jobs are background jobs: their
 * producer does not wait for a result. A job's end is not answered; an echo behind the last one is.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "player.h"
#include "stream.h"

#define WINDOW 500

enum packet {
    CAN_DO = 1,
    PRE_SLEEP = 4,
    JOB_CREATED = 8,
    GRAB_JOB = 9,
    NO_JOB = 10,
    JOB_ASSIGN = 11,
    WORK_COMPLETE = 13,
    ECHO_REQ = 16,
    ECHO_RES = 17,
    SUBMIT_JOB_BG = 18
};

struct header {
    char magic[4];
    uint32_t type, len;
};

static struct stream stream;

static void put_header(enum packet type, size_t len)
{
    const struct header h = {{'\0', 'R', 'E', 'Q'}, htonl(type), htonl((uint32_t)len)};
    stream_put(&stream, &h, sizeof h);
}

/* Takes a packet. Its body is valid until the next one. */
static enum packet take(const char **body, size_t *len)
{
    struct header h;
    memcpy(&h, stream_take(&stream, sizeof h), sizeof h);
    if (memcmp(h.magic, "\0RES", sizeof h.magic) != 0)
        player_fail("gearmand answered with something that is no packet");
    *len = ntohl(h.len);
    *body = stream_take(&stream, *len);
    return ntohl(h.type);
}

static void expect(enum packet type)
{
    const char *body;
    size_t len;
    enum packet got = take(&body, &len);
    if (got != type)
        player_fail("gearmand answered with packet %d, not %d", (int)got, (int)type);
}

static void open_self(const char *address, const char *role)
{
    const char *function = strcmp(role, "drain") == 0 ? FILL_QUEUE : SEND_QUEUE;
    stream_open(&stream, address);
    if (strcmp(role, "produce") == 0)
        return;
    put_header(CAN_DO, strlen(function));
    stream_put(&stream, function, strlen(function));
}

/* ---- produce ---- */

/* The name of the function, an empty unique id, the task. */
static void submit(const char *function, const char *task)
{
    size_t len = strlen(function) + 1;
    put_header(SUBMIT_JOB_BG, len + 1 + TASK_LEN);
    stream_put(&stream, function, len);
    stream_put(&stream, "", 1);
    stream_put(&stream, task, TASK_LEN);
}

static void fill(size_t n)
{
    char task[TASK_LEN];
    for (size_t sent = 0, done = 0; done < n; done++) {
        while (sent < n && sent - done < WINDOW) {
            player_task(task, (int64_t)++sent);
            submit(FILL_QUEUE, task);
        }
        expect(JOB_CREATED);
    }
}

static void send_one(const char *task)
{
    submit(SEND_QUEUE, task);
    expect(JOB_CREATED);
}

/* ---- drain and listen ---- */

/* An assignment is the job's handle, the function, the task; its end the handle and a result, here an empty one. */
static void work(const char *body, size_t len)
{
    const char *end = body + len, *function = memchr(body, '\0', len);
    const char *task = function ? memchr(function + 1, '\0', (size_t)(end - function - 1)) : NULL;
    if (!task)
        player_fail("gearmand assigned a job without a task");
    player_handle(task + 1, (size_t)(end - task - 1));
    put_header(WORK_COMPLETE, (size_t)(function + 1 - body));
    stream_put(&stream, body, (size_t)(function + 1 - body));
}

static void drain(size_t n)
{
    const char *body;
    size_t len, asked = 0, window = player_window() ? player_window() : WINDOW;
    for (; asked < n && asked < window; asked++)
        put_header(GRAB_JOB, 0);
    for (size_t done = 0; done < n; done++) {
        if (take(&body, &len) != JOB_ASSIGN)
            player_fail("gearmand ran out of jobs after %zu of %zu", done, n);
        work(body, len);
        if (asked++ < n)
            put_header(GRAB_JOB, 0);
    }
    put_header(ECHO_REQ, 0);
    expect(ECHO_RES);
}

static void listen_on(void)
{
    const char *body;
    size_t len;
    puts("ready");
    put_header(GRAB_JOB, 0);
    for (;;) {
        enum packet type = take(&body, &len);
        if (type == JOB_ASSIGN)
            work(body, len);
        put_header(type == NO_JOB ? PRE_SLEEP : GRAB_JOB, 0);
    }
}

int main(int argc, char **argv)
{
    const struct player player = {open_self, fill, send_one, drain, listen_on};
    return player_run(&player, argc, argv);
}
