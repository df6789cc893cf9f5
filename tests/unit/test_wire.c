/* SPDX-License-Identifier: MIT
 *
 * A wire on one end of a socket pair; the test is the server on the other end. What is read, whole or in parts; what is
 * refused; what counts as a sign of life; and how it ends.
 */
#include "redis/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "redis/guard.h"
#include "redis/wire_out.h"
#include "testing.h"

struct pair {
    struct wire *wire;
    int server;
};

/* `asked`: so many answers are still to come. */
static struct pair pair_new(size_t asked)
{
    struct pair p;
    int ends[2];
    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), errno);
    p.server = ends[1];
    assert_ok(wire_new(&p.wire));
    wire_take(p.wire, ends[0]);
    assert_int_equal(wire_waits_for(p.wire), POLLOUT);
    wire_step(p.wire, POLLOUT);
    assert_true(wire_is_ready(p.wire));
    for (size_t i = 0; i < asked; i++) {
        struct command c = COMMAND_EMPTY;
        command_text(&c, "PING");
        assert_ok(wire_say(p.wire, &c, 1));
        command_clear(&c);
    }
    wire_flush(p.wire);
    return p;
}

static void pair_free(struct pair *p)
{
    wire_free(p->wire);
    if (p->server >= 0)
        close(p->server);
}

static void hang_up(struct pair *p)
{
    close(p->server);
    p->server = -1;
}

static void serve(struct pair *p, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(p->server, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        assert_true(n > 0 || errno == EAGAIN);
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
        wire_step(p->wire, POLLIN);
    }
}

static void serve_text(struct pair *p, const char *text)
{
    serve(p, text, strlen(text));
}

static struct redisReply *next(struct pair *p)
{
    struct redisReply *reply;
    assert_ok(wire_next(p->wire, &reply));
    return reply;
}

static void assert_no_reply(struct pair *p)
{
    assert_null(next(p));
}

static void assert_ended(struct pair *p, int err, const char *words)
{
    for (int i = 0; i < 2; i++) { /* it is final */
        struct redisReply *reply;
        assert_err(wire_next(p->wire, &reply), err);
        assert_null(reply);
        if (!strstr(wire_why(p->wire), words))
            fail_msg("'%s' does not say '%s'", wire_why(p->wire), words);
    }
    assert_int_equal(wire_waits_for(p->wire), 0);
    assert_false(wire_is_ready(p->wire));
}

/* ---- what is read ---- */

static const char some[] = "*4\r\n:-7\r\n$5\r\nab\0de\r\n*2\r\n$-1\r\n+OK\r\n$0\r\n\r\n";
#define SOME_LEN (sizeof some - 1)

static void assert_some(struct redisReply *r)
{
    assert_non_null(r);
    assert_int_equal(reply_len(r), 4);
    assert_int_equal(reply_integer(reply_at(r, 0)), -7);
    assert_int_equal(reply_bytes(reply_at(r, 1)).len, 5);
    assert_memory_equal(reply_bytes(reply_at(r, 1)).data, "ab\0de", 5);
    assert_int_equal(reply_kind(reply_at(reply_at(r, 2), 0)), REPLY_NIL);
    assert_true(reply_is(reply_at(reply_at(r, 2), 1), "OK"));
    assert_true(reply_is(reply_at(r, 3), ""));
    freeReplyObject(r);
}

static void a_reply_that_comes_in_two_parts_is_read_whole(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= SOME_LEN; cut++) {
        struct pair p = pair_new(1);
        serve(&p, some, cut);
        if (cut < SOME_LEN)
            assert_no_reply(&p);
        serve(&p, some + cut, SOME_LEN - cut);
        assert_some(next(&p));
        assert_no_reply(&p);
        pair_free(&p);
    }
}

static void a_connection_that_ends_within_a_reply_gives_what_came_before(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < SOME_LEN; cut++) {
        struct pair p = pair_new(2);
        serve_text(&p, "+first\r\n");
        serve(&p, some, cut);
        hang_up(&p);
        wire_step(p.wire, POLLIN);
        struct redisReply *first = next(&p);
        assert_true(reply_is(first, "first"));
        freeReplyObject(first);
        assert_ended(&p, MUSTER_E_CONN, "reset by peer"); /* there were commands that the server had not read */
        pair_free(&p);
    }
}

static void many_replies_are_read_in_order(void **state)
{
    enum { N = 20000 };
    struct pair p = pair_new(N);
    char text[32];
    (void)state;
    for (int i = 0; i < N; i++)
        serve(&p, text, (size_t)snprintf(text, sizeof text, ":%d\r\n", i));
    for (int i = 0; i < N; i++) {
        struct redisReply *r = next(&p);
        assert_int_equal(reply_integer(r), i);
        freeReplyObject(r);
        wire_step(p.wire, POLLIN);
    }
    assert_no_reply(&p);
    pair_free(&p);
}

static void a_large_text_arrives_byte_for_byte(void **state)
{
    const size_t len = 9000000;
    char head[32], *text = malloc(len);
    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 2; i++) { /* the reader was replaced meanwhile */
        struct pair p = pair_new(3);
        for (size_t k = 0; k < len; k++)
            text[k] = (char)(k * 7 + k / 251);
        for (int n = 0; n < 3; n++) {
            serve(&p, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", len));
            serve(&p, text, len);
            serve_text(&p, "\r\n");
            wire_step(p.wire, POLLIN);
            struct redisReply *r = next(&p);
            assert_int_equal(reply_bytes(r).len, len);
            assert_memory_equal(reply_bytes(r).data, text, len);
            freeReplyObject(r);
        }
        assert_int_equal(wire_asked(p.wire), 0);
        pair_free(&p);
    }
    free(text);
}

/* ---- what is refused ---- */

static void what_has_no_bounds_is_refused(void **state)
{
    static const struct {
        const char *reply, *words;
    } cases[] = {
        {"*10000001\r\n", "more elements"},
        {"*2147483647\r\n", "more elements"},
        {"*2\r\n*9000000\r\n*-1\r\n", NULL},
        {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", NULL},
        {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "lists in lists"},
        {"$536870912\r\n", NULL},
        {"$536870913\r\n", "longer than Redis allows"},
        {"*1\r\n$9223372036854775807\r\n", "longer than Redis allows"},
        {"$99999999999999999999\r\n", ""},
        {"$-2\r\n", ""},
        {"*-2\r\n", ""},
        {":1x\r\n", ""},
        {"?\r\n", ""},
        {">1\r\n+a\r\n", ""},
        {"%1\r\n+a\r\n:1\r\n", ""},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", ""},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct pair p = pair_new(1);
        struct redisReply *reply = NULL;
        serve_text(&p, cases[i].reply);
        if (cases[i].words) {
            assert_ended(&p, MUSTER_E_REDIS, "this is not a Redis: ");
            assert_non_null(strstr(wire_why(p.wire), cases[i].words));
        } else {
            assert_ok(wire_next(p.wire, &reply));
            freeReplyObject(reply);
        }
        pair_free(&p);
    }
}

/* Two lists, each within the bound, are one reply. */
static void the_elements_of_all_levels_are_counted(void **state)
{
    struct pair p = pair_new(2);
    char *text = malloc(64 + (size_t)6000000 * 5);
    assert_non_null(text);
    char *at = text + sprintf(text, "*2\r\n*6000000\r\n");
    (void)state;
    for (int i = 0; i < 6000000; i++)
        at = mempcpy(at, "*0\r\n", 4);
    at = mempcpy(at, "*6000000\r\n", 10);
    struct redisReply *none = NULL;
    int err = MUSTER_OK;
    for (const char *from = text; from < at && err == MUSTER_OK; from += 16384) {
        serve(&p, from, (size_t)(at - from) < 16384 ? (size_t)(at - from) : 16384);
        err = wire_next(p.wire, &none);
    }
    assert_ended(&p, MUSTER_E_REDIS, "more elements");
    pair_free(&p);
    free(text);
}

static void a_line_without_an_end_is_refused(void **state)
{
    static char line[GUARD_LINE_MAX + 1];
    (void)state;
    memset(line, 'x', sizeof line);
    for (const char *kind = "+-:$*"; *kind; kind++) {
        struct pair p = pair_new(1);
        line[0] = *kind;
        line[1] = '1';
        serve(&p, line, sizeof line - 16);
        wire_step(p.wire, POLLIN);
        assert_no_reply(&p);
        serve(&p, line + 1, 16);
        wire_step(p.wire, POLLIN);
        assert_ended(&p, MUSTER_E_REDIS, "a line without an end");
        pair_free(&p);
    }
}

static void nothing_is_read_that_was_not_asked_for(void **state)
{
    static const char *const unasked[] = {"+OK\r\n", ":1\r\n", "$1\r\na\r\n",
                                          "$-1\r\n", "*0\r\n", "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"};
    (void)state;
    for (size_t i = 0; i < N_OF(unasked); i++) {
        struct pair p = pair_new(0);
        serve_text(&p, unasked[i]);
        assert_ended(&p, MUSTER_E_REDIS, "what was not asked");
        pair_free(&p);
    }
    struct pair p = pair_new(1);
    serve_text(&p, "+OK\r\n+OK\r\n");
    freeReplyObject(next(&p));
    assert_ended(&p, MUSTER_E_REDIS, "what was not asked");
    pair_free(&p);
}

static void an_error_that_comes_unasked_says_why_it_ends(void **state)
{
    struct pair p = pair_new(0);
    (void)state;
    serve_text(&p, "-ERR max number of clients reached\r\n");
    hang_up(&p);
    wire_step(p.wire, POLLIN);
    assert_ended(&p, MUSTER_E_BUSY, "ERR max number of clients reached");
    pair_free(&p);
    p = pair_new(0);
    serve_text(&p, "-\r\n");
    assert_ended(&p, MUSTER_E_REDIS, "without a word");
    pair_free(&p);
}

/* ---- subscriptions ---- */

static struct pair subscribed(enum wire_channels channels)
{
    struct pair p = pair_new(0);
    assert_ok(wire_subscribe(p.wire, channels, "c"));
    wire_flush(p.wire);
    return p;
}

static void a_subscription_is_said_in_the_words_of_its_channels(void **state)
{
    const char *const said[] = {"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n", "*2\r\n$10\r\nSSUBSCRIBE\r\n$1\r\nc\r\n"};
    (void)state;
    for (int i = WIRE_CLASSIC; i <= WIRE_SHARDED; i++) {
        char found[64] = "";
        struct pair p = subscribed((enum wire_channels)i);
        assert_true(read(p.server, found, sizeof found - 1) > 0);
        assert_string_equal(found, said[i]);
        pair_free(&p);
    }
}

static void a_subscriber_is_told_what_is_pushed(void **state)
{
    static const char *const pushes[] = {
        "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",     "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n",
        "*3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n",   "*3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$0\r\n\r\n",
        "*3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n",
    };
    struct pair p = subscribed(WIRE_SHARDED);
    (void)state;
    for (size_t i = 0; i < N_OF(pushes); i++) {
        serve_text(&p, pushes[i]);
        struct redisReply *r = next(&p);
        assert_true(wire_was_pushed(p.wire));
        assert_true(reply_is(reply_at(r, 1), "c"));
        freeReplyObject(r);
    }
    pair_free(&p);
}

/* A message may come between a command and its answer. */
static void an_answer_is_told_from_what_is_pushed(void **state)
{
    struct pair p = subscribed(WIRE_CLASSIC);
    struct command c = COMMAND_EMPTY;
    (void)state;
    command_text(&c, "PING");
    assert_ok(wire_say(p.wire, &c, 1));
    command_clear(&c);
    serve_text(&p, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    freeReplyObject(next(&p));
    assert_true(wire_was_pushed(p.wire));
    assert_int_equal(wire_asked(p.wire), 1);
    freeReplyObject(next(&p));
    assert_false(wire_was_pushed(p.wire));
    assert_int_equal(wire_asked(p.wire), 0);
    pair_free(&p);
}

/* It is one by its form: whatever is asked on such a connection must not be answered like this. */
static void an_answer_that_only_begins_like_a_message_is_none(void **state)
{
    static const char *const answers[] = {"*3\r\n$7\r\nmessage\r\n*1\r\n:1\r\n$1\r\nx\r\n",
                                          "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n:1\r\n",
                                          "*3\r\n$9\r\nsubscribe\r\n$-1\r\n:1\r\n"};
    (void)state;
    for (size_t i = 0; i < N_OF(answers); i++) {
        struct pair p = pair_new(1);
        assert_ok(wire_subscribe(p.wire, WIRE_CLASSIC, "c"));
        serve_text(&p, answers[i]);
        freeReplyObject(next(&p));
        assert_false(wire_was_pushed(p.wire));
        assert_int_equal(wire_asked(p.wire), 0);
        pair_free(&p);
    }
}

static void what_nobody_pushes_is_refused(void **state)
{
    static const char *const wrong[] = {
        "*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$-1\r\n",
        "*3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n:1\r\n",
        "*3\r\n+message\r\n$1\r\nc\r\n$1\r\nx\r\n",
        "*3\r\n$-1\r\n$1\r\nc\r\n$1\r\nx\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$-1\r\n:1\r\n",
        "*3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n$1\r\n1\r\n",
        "*3\r\n$12\r\npunsubscribe\r\n$1\r\nc\r\n:0\r\n",
        "*3\r\n*1\r\n:1\r\n*0\r\n*-1\r\n",
        "*2\r\n$7\r\nmessage\r\n$1\r\nc\r\n",
        "*4\r\n$8\r\npmessage\r\n",
        "+PONG\r\n",
        "$-1\r\n",
    };
    (void)state;
    for (size_t i = 0; i < N_OF(wrong); i++) {
        struct pair p = subscribed(WIRE_SHARDED);
        serve_text(&p, wrong[i]);
        assert_ended(&p, MUSTER_E_REDIS, "what was not asked");
        pair_free(&p);
    }
}

/* ---- signs of life ---- */

static void only_a_whole_reply_or_many_bytes_are_a_sign(void **state)
{
    static char text[4 * WIRE_STRIDE];
    struct pair p = pair_new(2);
    unsigned before = wire_marks(p.wire);
    (void)state;
    for (const char *at = "$1048576\r\n"; *at; at++) {
        serve(&p, at, 1);
        assert_no_reply(&p);
    }
    assert_int_equal(wire_marks(p.wire), before);
    for (unsigned i = 1; i <= 4; i++) {
        serve(&p, text, WIRE_STRIDE);
        for (size_t n = 0; n < WIRE_STRIDE; n += 4096) /* all of it */
            wire_step(p.wire, POLLIN);
        assert_no_reply(&p);
        assert_int_equal(wire_marks(p.wire), before + i);
    }
    before = wire_marks(p.wire);
    serve_text(&p, "\r\n");
    wire_step(p.wire, POLLIN);
    freeReplyObject(next(&p));
    assert_int_equal(wire_marks(p.wire), before + 1);
    pair_free(&p);
}

/* ---- writing ---- */

static void what_the_socket_does_not_take_is_written_later(void **state)
{
    enum { N = 3000000 };
    static char task[N], sink[65536];
    struct pair p = pair_new(0);
    struct command c = COMMAND_EMPTY;
    size_t got = 0;
    (void)state;
    memset(task, 't', N);
    command_text(&c, "SET");
    command_bytes(&c, task, N);
    assert_ok(wire_say(p.wire, &c, 1));
    command_clear(&c);
    wire_flush(p.wire);
    assert_int_equal(wire_waits_for(p.wire), POLLIN | POLLOUT);
    while (wire_has_unsent(p.wire)) {
        ssize_t n = read(p.server, sink, sizeof sink);
        assert_true(n > 0);
        got += (size_t)n;
        wire_step(p.wire, POLLOUT);
    }
    assert_int_equal(wire_waits_for(p.wire), POLLIN);
    for (ssize_t n; (n = recv(p.server, sink, sizeof sink, MSG_DONTWAIT)) > 0;)
        got += (size_t)n;
    assert_int_equal(got, strlen("*2\r\n$3\r\nSET\r\n$3000000\r\n") + N + 2);
    pair_free(&p);
}

/* SIGPIPE would end this program. */
/* Something is unsent at any time, never more than LATE commands. */
static void what_is_sent_leaves_its_room_to_what_is_said(void **state)
{
    enum { ROUNDS = 20000, LATE = 64, SIZE = 1000 };
    struct wire_out o = {0};
    char text[SIZE] = "";
    (void)state;
    for (int i = 0; i < ROUNDS + LATE; i++) {
        const struct muster_bytes part = {text, SIZE};
        snprintf(text, sizeof text, "%d", i);
        assert_ok(wire_out_bytes(&o, &part, 1));
        assert_int_equal(o.len - o.last, SIZE);
        if (i < LATE)
            continue;
        assert_int_equal(atoi(o.bytes + o.sent), i - LATE);
        wire_out_forget(&o, SIZE);
        assert_in_range(o.cap, 1, 8 * LATE * SIZE);
    }
    wire_out_clear(&o);
}

static void a_refusal_is_read_though_nothing_can_be_written(void **state)
{
    struct pair p = pair_new(0);
    (void)state;
    assert_int_equal(send(p.server, "-NOAUTH no\r\n", 12, 0), 12);
    hang_up(&p);
    struct command c = COMMAND_EMPTY;
    command_text(&c, "PING");
    assert_ok(wire_say(p.wire, &c, 1));
    command_clear(&c);
    wire_flush(p.wire);
    struct redisReply *r = next(&p);
    assert_true(reply_is(r, "NOAUTH no"));
    freeReplyObject(r);
    assert_ended(&p, MUSTER_E_CONN, "");
    pair_free(&p);
}

/* ---- whose the socket is ---- */

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void a_socket_that_was_taken_is_closed_a_borrowed_one_is_not(void **state)
{
    int ends[2];
    struct wire *w;
    (void)state;
    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), errno);
    assert_ok(wire_new(&w));
    wire_borrow(w, ends[0]);
    wire_step(w, POLLOUT);
    wire_free(w);
    assert_true(is_open(ends[0]));
    assert_int_equal(fcntl(ends[0], F_GETFD) & FD_CLOEXEC, 0);
    assert_ok(wire_new(&w));
    wire_take(w, ends[0]);
    assert_int_equal(fcntl(ends[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    wire_free(w);
    assert_false(is_open(ends[0]));
    close(ends[1]);
}

static void a_connection_that_is_not_made_says_why(void **state)
{
    static const struct wire_place places[] = {
        {.path = "/nonexistent/redis.sock"},
        {.path = "/a/path/that/is/longer/than/any/socket/may/have/so/it/cannot/be/one/that/anybody/listens/on/whatever"
                 "/it/may/be/called"},
        {.address = "no address", .port = 1}};
    static const char *const words[] = {"No such file", "Invalid argument", "Invalid argument"};
    (void)state;
    for (size_t i = 0; i < N_OF(places); i++) {
        struct pair p = {.server = -1};
        assert_ok(wire_new(&p.wire));
        wire_connect(p.wire, &places[i]);
        assert_ended(&p, MUSTER_E_CONN, words[i]);
        pair_free(&p);
    }
}

static void on_alarm(int number)
{
    (void)number;
}

/* The last ring may come late, so the handler stays. */
static void ring_every_5_ms(bool rings)
{
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval timer = {{.tv_usec = rings ? 5000 : 0}, {.tv_usec = rings ? 5000 : 0}};
    assert_return_code(sigaction(SIGALRM, &act, NULL), errno);
    assert_return_code(setitimer(ITIMER_REAL, &timer, NULL), errno);
}

/* A signal is no answer, and not the end of the time. */
static void a_wait_ends_with_what_comes_or_with_its_time(void **state)
{
    struct pair p = pair_new(2);
    (void)state;
    assert_true(wire_can_wait(p.wire));
    assert_false(wire_wait(p.wire, 1));
    assert_no_reply(&p);
    assert_int_equal(send(p.server, "+a\r\n", 4, 0), 4);
    assert_true(wire_wait(p.wire, 60000));
    freeReplyObject(next(&p));
    ring_every_5_ms(true);
    assert_true(wire_wait(p.wire, 60000));
    ring_every_5_ms(false);
    assert_no_reply(&p);
    wire_step(p.wire, POLLIN); /* the socket waits now, a step still does not */
    hang_up(&p);
    assert_true(wire_wait(p.wire, 60000));
    assert_ended(&p, MUSTER_E_CONN, "reset by peer");
    assert_false(wire_can_wait(p.wire));
    pair_free(&p);
}

static void a_borrowed_socket_is_not_made_to_wait(void **state)
{
    int ends[2];
    struct wire *w;
    (void)state;
    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), errno);
    assert_ok(wire_new(&w));
    wire_borrow(w, ends[0]);
    wire_step(w, POLLOUT);
    assert_true(wire_is_ready(w));
    assert_false(wire_can_wait(w));
    wire_free(w);
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_that_comes_in_two_parts_is_read_whole),
        cmocka_unit_test(a_connection_that_ends_within_a_reply_gives_what_came_before),
        cmocka_unit_test(many_replies_are_read_in_order),
        cmocka_unit_test(a_large_text_arrives_byte_for_byte),
        cmocka_unit_test(what_has_no_bounds_is_refused),
        cmocka_unit_test(the_elements_of_all_levels_are_counted),
        cmocka_unit_test(a_line_without_an_end_is_refused),
        cmocka_unit_test(nothing_is_read_that_was_not_asked_for),
        cmocka_unit_test(an_error_that_comes_unasked_says_why_it_ends),
        cmocka_unit_test(a_subscription_is_said_in_the_words_of_its_channels),
        cmocka_unit_test(a_subscriber_is_told_what_is_pushed),
        cmocka_unit_test(an_answer_is_told_from_what_is_pushed),
        cmocka_unit_test(an_answer_that_only_begins_like_a_message_is_none),
        cmocka_unit_test(what_nobody_pushes_is_refused),
        cmocka_unit_test(only_a_whole_reply_or_many_bytes_are_a_sign),
        cmocka_unit_test(what_the_socket_does_not_take_is_written_later),
        cmocka_unit_test(what_is_sent_leaves_its_room_to_what_is_said),
        cmocka_unit_test(a_refusal_is_read_though_nothing_can_be_written),
        cmocka_unit_test(a_socket_that_was_taken_is_closed_a_borrowed_one_is_not),
        cmocka_unit_test(a_connection_that_is_not_made_says_why),
        cmocka_unit_test(a_wait_ends_with_what_comes_or_with_its_time),
        cmocka_unit_test(a_borrowed_socket_is_not_made_to_wait),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
