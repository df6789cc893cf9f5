/* SPDX-License-Identifier: MIT
 *
 * A queue in which 400 000 jobs wait: the order in which they come out, and that each call costs as many Redis commands
 * there as in a queue in which three wait. The time that it takes is printed, not judged.
 */
#include <stdio.h>
#include <string.h>

#include "job_look.h"
#include "taken.h"

enum { N_JOBS = 400000, CHUNK = 20000, N_PRIORITIES = 9, TIMED = 300 };

/*
 * Copies of the job "model", which was put as any other: "j0", "j1", ... of priorities -4 to 4, scattered. Putting them
 * one by one would take most of a minute.
 */
static const char copy_jobs[] =
    "local P, first, n = KEYS[1] .. ':', tonumber(ARGV[1]), tonumber(ARGV[2])\n"
    "local function text(number)\n"
    "  local s = ''\n"
    "  for _ = 1, 11 do\n"
    "    local d = number % 32\n"
    "    s, number = string.sub('0123456789abcdefghijklmnopqrstuv', d + 1, d + 1) .. s, (number - d) / 32\n"
    "  end\n"
    "  return s\n"
    "end\n"
    "local record = redis.call('HGETALL', P .. 'job:model')\n"
    "local at = {}\n"
    "for i = 1, #record, 2 do at[record[i]] = i + 1 end\n"
    "local line, place = redis.call('LINDEX', P .. 'history:model', 0), tonumber(record[at.place], 32)\n"
    "if not at.priority then\n"
    "  at.priority = #record + 2\n"
    "  record[#record + 1], record[#record + 2] = 'priority', '0'\n"
    "end\n"
    "for i = first, first + n - 1 do\n"
    "  local priority = i * 7 % 9 - 4\n"
    "  record[at.place], record[at.priority] = text(place + i + 1), priority\n"
    "  redis.call('HSET', P .. 'job:j' .. i, unpack(record))\n"
    "  redis.call('RPUSH', P .. 'history:j' .. i, line)\n"
    "  redis.call('ZADD', P .. 'waiting:' .. record[at.queue], priority, record[at.place] .. 'j' .. i)\n"
    "end\n"
    "redis.call('SET', P .. 'token', text(place + first + n))\n";

static void fill(struct scene *s)
{
    for (int first = 0; first < N_JOBS; first += CHUNK)
        freeReplyObject(raw(s->server->redis, "EVAL %s 1 %s %d %d", copy_jobs, s->prefix, first, (int)CHUNK));
}

/* ---- order ---- */

struct order {
    int n, priority, number;
};

static int in_order(const struct muster_process_info *p, void *arg)
{
    struct order *o = arg;
    int number = -1, priority = p->record->priority;
    if (sscanf(p->job, "j%d", &number) != 1) /* one that was measured */
        return 0;
    assert_int_equal(priority, number * 7 % N_PRIORITIES - 4);
    if (o->n++ > 0 && (priority < o->priority || (priority == o->priority && number <= o->number)))
        fail_msg("%s of priority %d came after j%d of %d", p->job, priority, o->number, o->priority);
    o->priority = priority;
    o->number = number;
    return 0;
}

/* 3 000 from the front; then, for the sake of time, each hundredth of all that is left. */
static void assert_order(struct scene *s)
{
    static const char thin_out[] = "local key = KEYS[1] .. ':waiting:q'\n"
                                   "local members = redis.call('ZRANGE', key, ARGV[1], ARGV[1] + 98)\n"
                                   "return members[1] and redis.call('ZREM', key, unpack(members))\n";
    struct order order = {0};
    int err = MUSTER_OK, left = N_JOBS / 100;
    for (int i = 0; i < 3; i++)
        assert_ok(muster_lease_take(s->client, "q", 1000, 3600000, 0, in_order, &order));
    assert_int_equal(order.n, 3000);
    assert_int_equal(order.priority, -4);
    order.n = 1;
    for (int i = 0; i < left; i++)
        raw_do(s->server->redis, "EVAL %s 1 %s %d", thin_out, s->prefix, i + 1);
    while (!err)
        err = muster_lease_take(s->client, "q", 1000, 3600000, 0, in_order, &order);
    assert_err(err, MUSTER_E_NOT_FOUND);
    assert_int_equal(order.priority, 4);
    assert_in_range(order.n, left * 9 / 10, left + 100);
}

/* ---- what a call costs ---- */

enum op { PUT, TAKE, CANCEL, CHANGE, N_OPS };
static const char *const op_names[] = {"put", "take", "cancel", "priority"};

static void do_op(struct scene *s, const char *queue, enum op op, const char *id)
{
    struct taken one;
    switch (op) {
    case PUT:
        job_put(s, queue, JOB_SPEC(.id = id, .priority = 1));
        break;
    case TAKE:
        assert_ok(take_n(s, queue, 1, 3600000, &one));
        break;
    case CANCEL:
        assert_ok(muster_job_cancel(s->client, &id, 1, 0, NULL, NULL));
        break;
    case CHANGE:
        assert_ok(muster_job_change(s->client, id, JOB_CHANGE(.priority = -3)));
        break;
    case N_OPS:
        break;
    }
}

static int64_t server_us(struct scene *s)
{
    return raw_int(s->server->redis, "EVAL %s 0", "local t = redis.call('TIME') return t[1] * 1000000 + t[2]");
}

/* A time of 0 ms is counted in two statistics less than any other. */
static void wait_until_it_has_waited(struct scene *s)
{
    const int64_t put_ms = server_us(s) / 1000;
    while (server_us(s) / 1000 == put_ms)
        ;
}

/*
 * Commands of one such call, on a job of its own that waits at the end, or is the next out. The least of many: a
 * statistics' first count of a length of time is one more.
 */
static int64_t cost(struct scene *s, const char *queue, enum op op)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 30; i++) {
        char id[32];
        snprintf(id, sizeof id, "%s %s cost %d", queue, op_names[op], i);
        if (op != PUT)
            job_put(s, queue, JOB_SPEC(.id = id, .priority = op == TAKE ? -9 : 1));
        wait_until_it_has_waited(s);
        int64_t before = redis_server_calls(s->server, NULL);
        do_op(s, queue, op, id);
        int64_t n = redis_server_calls(s->server, NULL) - before;
        least = n < least ? n : least;
    }
    return least;
}

static double time_us(struct scene *s, const char *queue, enum op op)
{
    char id[32];
    for (int i = 0; i < TIMED && op != PUT; i++) {
        snprintf(id, sizeof id, "%s %s %d", queue, op_names[op], i);
        job_put(s, queue, JOB_SPEC(.id = id, .priority = op == TAKE ? -9 : 1));
    }
    int64_t before = server_us(s);
    for (int i = 0; i < TIMED; i++) {
        snprintf(id, sizeof id, "%s %s %d", queue, op_names[op], i);
        do_op(s, queue, op, id);
    }
    return (double)(server_us(s) - before) / TIMED;
}

static void among_400_000_jobs_order_and_cost_are_those_of_a_few(void **state)
{
    struct scene *s = *state;
    int64_t begun_ms = now_ms();
    job_put(s, "q", JOB_SPEC(.id = "model", .data = BYTES("a few bytes")));
    fill(s);
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "few%d", i);
        job_put(s, "few", JOB_SPEC(.id = id));
    }
    assert_int_equal(job_count(s, "q", MUSTER_JOB_WAITING), N_JOBS + 1);
    print_message("  made in %d ms\n", (int)(now_ms() - begun_ms));
    for (enum op op = PUT; op < N_OPS; op++) {
        int64_t few = cost(s, "few", op), many = cost(s, "q", op);
        print_message("  %-8s %d commands; %.0f us among a few, %.0f us among %d\n", op_names[op], (int)many,
                      time_us(s, "few", op), time_us(s, "q", op), N_JOBS);
        assert_int_equal(few, many);
        assert_true(many > 1);
    }
    begun_ms = now_ms();
    assert_order(s);
    print_message("  taken in order in %d ms\n", (int)(now_ms() - begun_ms));
    raw_do(s->server->redis, "FLUSHALL"); /* nobody looks through all of it */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(among_400_000_jobs_order_and_cost_are_those_of_a_few)};
    return scene_run(tests, argc, argv);
}
