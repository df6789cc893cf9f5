/* SPDX-License-Identifier: MIT
 *
 * Orders, answers, the clock, and what a task is.
 */
#include "player.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIGITS 20

static struct {
    int listening;
    size_t window, count;
    int64_t sum, started_ns;
} self;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void player_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void player_task(char *task, int64_t number)
{
    char digits[DIGITS + 1];
    snprintf(digits, sizeof digits, "%0*" PRId64, DIGITS, number);
    memset(task, 'm', TASK_LEN);
    memcpy(task, digits, DIGITS);
}

size_t player_handle(const void *task, size_t len)
{
    int64_t now = self.listening ? now_ns() : 0, number = 0;
    const char *digits = task;
    if (len != TASK_LEN)
        player_fail("a task of %zu bytes came out, of %d went in", len, TASK_LEN);
    for (size_t i = 0; i < DIGITS; i++)
        number = number * 10 + (digits[i] - '0');
    if (self.listening)
        printf("got %" PRId64 "\n", now - number);
    self.sum += number;
    return ++self.count;
}

size_t player_window(void)
{
    return self.window;
}

void player_start_clock(void)
{
    self.started_ns = now_ns();
}

static void obey(const struct player *player, const char *order)
{
    char task[TASK_LEN];
    size_t n = strtoul(strpbrk(order, " \n"), NULL, 10);
    if (strcmp(order, "send\n") == 0) {
        player_task(task, now_ns());
        player->send(task);
        puts("sent");
        return;
    }
    self.count = 0;
    self.sum = 0;
    player_start_clock();
    if (*order == 'f') {
        player->fill(n);
        printf("done %" PRId64 "\n", now_ns() - self.started_ns);
    } else {
        player->drain(n);
        printf("done %" PRId64 " %zu %" PRId64 "\n", now_ns() - self.started_ns, self.count, self.sum);
    }
}

int player_run(const struct player *player, int argc, char **argv)
{
    char order[64];
    if (argc != 3 && argc != 4)
        player_fail("usage: %s produce|drain|listen ADDRESS [WINDOW]", argv[0]);
    self.window = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    player->open(argv[2], argv[1]);
    self.listening = strcmp(argv[1], "listen") == 0;
    if (self.listening)
        player->listen();
    while (fgets(order, sizeof order, stdin))
        obey(player, order);
    return 0;
}
