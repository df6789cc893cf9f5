/* SPDX-License-Identifier: MIT
 *
 * beanstalkd's player, by its text protocol, with as many requests unanswered as help: it answers each connection in
 * order. A job is put, reserved and deleted by a request each; there is no request for many.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"
#include "stream.h"

#define WINDOW 500
#define TTR_S 60

static struct stream stream;

static void put_text(const char *text)
{
    stream_put(&stream, text, strlen(text));
}

/* Takes an answer. Returns what follows the word that it begins with. */
static const char *expect(const char *word)
{
    const char *line = stream_take_line(&stream);
    size_t len = strlen(word);
    if (strncmp(line, word, len) != 0)
        player_fail("beanstalkd answered '%s', not %s", line, word);
    return line + len;
}

static void watch(const char *tube)
{
    put_text("watch ");
    put_text(tube);
    put_text("\r\nignore default\r\n");
    expect("WATCHING");
    expect("WATCHING");
}

static void use(const char *tube)
{
    put_text("use ");
    put_text(tube);
    put_text("\r\n");
    expect("USING");
}

static void open_self(const char *address, const char *role)
{
    stream_open(&stream, address);
    if (strcmp(role, "produce") != 0)
        watch(strcmp(role, "drain") == 0 ? FILL_QUEUE : SEND_QUEUE);
}

/* ---- produce ---- */

static void put(const char *task)
{
    char head[64];
    snprintf(head, sizeof head, "put 1024 0 %d %d\r\n", TTR_S, TASK_LEN);
    put_text(head);
    stream_put(&stream, task, TASK_LEN);
    put_text("\r\n");
}

static void fill(size_t n)
{
    char task[TASK_LEN];
    use(FILL_QUEUE);
    for (size_t sent = 0, done = 0; done < n; done++) {
        for (size_t room = WINDOW - (sent - done); room >= WINDOW / 2 && sent < n && sent - done < WINDOW;) {
            player_task(task, (int64_t)++sent);
            put(task);
        }
        expect("INSERTED");
    }
}

static void send_one(const char *task)
{
    use(SEND_QUEUE);
    put(task);
    expect("INSERTED");
}

/* ---- drain and listen ---- */

/* Takes a job, handles it and asks for its deletion. */
static void work(const char *reserved)
{
    char request[64];
    char *rest;
    unsigned long id = strtoul(reserved, &rest, 10);
    size_t len = strtoul(rest, NULL, 10);
    player_handle(stream_take(&stream, len + 2), len);
    snprintf(request, sizeof request, "delete %lu\r\n", id);
    put_text(request);
}

/* Never more than n requests for a job: one too many would wait for ever. */
static void drain(size_t n)
{
    size_t asked = 0, deleted = 0, window = player_window() ? player_window() : WINDOW;
    for (; asked < n && asked < window; asked++)
        put_text("reserve\r\n");
    while (deleted < n) {
        const char *line = stream_take_line(&stream);
        if (strcmp(line, "DELETED") == 0) {
            deleted++;
        } else if (strncmp(line, "RESERVED ", 9) == 0) {
            work(line + 9);
            if (asked++ < n)
                put_text("reserve\r\n");
        } else {
            player_fail("beanstalkd answered '%s' to a worker", line);
        }
    }
}

static void listen_on(void)
{
    puts("ready");
    for (;;) {
        put_text("reserve\r\n");
        work(expect("RESERVED"));
        expect("DELETED");
    }
}

int main(int argc, char **argv)
{
    const struct player player = {open_self, fill, send_one, drain, listen_on};
    return player_run(&player, argc, argv);
}
