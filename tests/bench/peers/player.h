/* SPDX-License-Identifier: MIT
 *
 * A player does one system's share of the comparison, in one of three roles: PLAYER ROLE ADDRESS [WINDOW]. It reads
 * orders from standard input and answers on standard output, a line each; players in other languages do the same.
 *
 *   produce  `fill N`: enqueue N tasks as fast as it can; `done NS` when the server has confirmed them
 *            `send`: enqueue one task with the time in it; `sent` when the server has confirmed it
 *   drain    `drain N`: begin to serve, stop after N tasks; `done NS COUNT SUM` when the server has confirmed all ends
 *   listen   no orders: `ready`, and then `got NS` for each task, so long after its sending
 *
 * A task is TASK_LEN bytes, of which the first ones are a decimal number: which one it is, or when it was sent
 * (CLOCK_MONOTONIC). What goes through `send` is for `listen`, what comes from `fill` for `drain`: two queues.
 */
#ifndef PLAYER_H
#define PLAYER_H

#include <stddef.h>
#include <stdint.h>

#define TASK_LEN 100
#define FILL_QUEUE "fill"
#define SEND_QUEUE "send"

/* Each function does what the order of its name says; the clock and the answers are the caller's. `open` connects. */
struct player {
    void (*open)(const char *address, const char *role);
    void (*fill)(size_t n);
    void (*send)(const char *task);
    void (*drain)(size_t n);
    void (*listen)(void); /* does not return */
};

int player_run(const struct player *player, int argc, char **argv);

/* The task with this number. */
void player_task(char *task, int64_t number);

/* A task is handled: to be called by every handler. Returns how many have been in this drain. */
size_t player_handle(const void *task, size_t len);

/* How many requests for a job a drain may have unanswered; 0: as many as help. */
size_t player_window(void);

/* For what is not part of a drain, but must come before it: the clock starts now. */
void player_start_clock(void);

/* One line about what went wrong, and the end. */
_Noreturn void player_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
