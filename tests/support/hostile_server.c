/* SPDX-License-Identifier: MIT
 *
 * A server that answers nonsense: a child that polls its connections.
 *
 * Each connection has its own random numbers, so that what it answers does not hang on when the others are asked.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "child.h"
#include "hostile_server.h"
#include "nonsense.h"
#include "resp.h"
#include "testing.h"
#include "wait.h"

#define CONNECTIONS_MAX 64
#define MESSAGE_EVERY_MS 20
#define CHANNEL_MAX 320
/* Requests on the way to Redis over one connection. */
#define RELAYED_MAX 1024

/* Bytes that came in and are not used up; there is always a NUL after them. */
struct inbox {
    char *data;
    size_t len, size;
};

/* `asks` are of requests that have no answer yet, the first one. `redis` is -1 without a real Redis. */
struct connection {
    int caller, redis;
    struct inbox asked, answered;
    struct nonsense nonsense;
    char channel[CHANNEL_MAX];
    char *last_request;
    bool is_ours[RELAYED_MAX]; /* by its number */
    unsigned n_relayed, n_answered;
    unsigned held_from; /* the number of an answer; 0: none */
};

struct hostile {
    struct hostile_spec spec;
    struct hostile_counts *counts;
    int listener;
    size_t n;
    uint64_t n_accepted;
    struct connection all[CONNECTIONS_MAX];
    int64_t window_at_ms;
    uint64_t in_window;
};

/* ---- bytes ---- */

static bool fill(struct inbox *in, int fd)
{
    if (in->size - in->len < 65536 + 1) {
        in->size = in->size ? 2 * in->size : 1 << 18;
        in->data = realloc(in->data, in->size);
    }
    ssize_t n = recv(fd, in->data + in->len, 65536, 0);
    if (n <= 0)
        return false;
    in->len += (size_t)n;
    in->data[in->len] = '\0';
    return true;
}

static void use_up(struct inbox *in, size_t n)
{
    in->len -= n;
    memmove(in->data, in->data + n, in->len + 1);
}

/* A caller that does not read what it is sent must not hold the others up. */
static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        ssize_t n = poll(&p, 1, 1000) > 0 ? send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

/* ---- what is answered ---- */

/* The word of a request in which they are: its name, or its first argument. */
static bool has_word(const char *request, int at, const char *word)
{
    struct resp r = resp_open(request);
    const char *value = r.body;
    if (r.type != '*' || r.n <= at)
        return false;
    while (at-- > 0)
        value = resp_skip(value);
    struct resp found = resp_open(value);
    return found.type == '$' && (size_t)found.n == strlen(word) && memcmp(found.body, word, strlen(word)) == 0;
}

static void copy_word(char *out, size_t size, const char *request, int at)
{
    const char *value = resp_open(request).body;
    while (at-- > 0)
        value = resp_skip(value);
    struct resp found = resp_open(value);
    snprintf(out, size, "%.*s", (int)found.n, found.body);
}

static bool is_sharded(const char *request)
{
    return has_word(request, 0, "SSUBSCRIBE");
}

static bool subscribes(const char *request)
{
    return is_sharded(request) || has_word(request, 0, "SUBSCRIBE");
}

static bool confirm(const char *request, FILE *out)
{
    struct resp r = resp_open(request);
    const char *channel = resp_skip(r.body);
    for (long long i = 1; i < r.n; i++) {
        const char *next = resp_skip(channel);
        fputs(is_sharded(request) ? "*3\r\n$10\r\nssubscribe\r\n" : "*3\r\n$9\r\nsubscribe\r\n", out);
        fwrite(channel, 1, (size_t)(next - channel), out);
        fprintf(out, ":%lld\r\n", i);
        channel = next;
    }
    return true;
}

/* What a greeting expects. */
static bool greet(const char *request, FILE *out)
{
    if (has_word(request, 0, "PING"))
        return fputs("+PONG\r\n", out) >= 0;
    if (has_word(request, 0, "HELLO"))
        return fputs("*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n", out) >= 0;
    if (subscribes(request))
        return confirm(request, out);
    if (has_word(request, 0, "GET") || has_word(request, 0, "SET"))
        return fputs("$-1\r\n", out) >= 0;
    if (has_word(request, 0, "AUTH") || has_word(request, 0, "SELECT"))
        return fputs("+OK\r\n", out) >= 0;
    return false;
}

static void make_up(struct hostile *h, struct connection *c, FILE *out)
{
    struct nonsense *n = &c->nonsense;
    bool is_nonsense = random_chance(&n->random, h->spec.percent);
    n->request = c->last_request;
    if (!is_nonsense && greet(c->last_request, out))
        return;
    h->counts->nonsense++;
    if (h->spec.constant)
        fputs(h->spec.constant, out);
    else if (random_chance(&n->random, 2))
        nonsense_protocol(n, out);
    else if (random_chance(&n->random, 60) && has_word(c->last_request, 0, "EVALSHA"))
        nonsense_script(n, out);
    else
        nonsense_value(n, out);
}

static void change(struct hostile *h, struct connection *c, const char *value, size_t len, FILE *out)
{
    struct nonsense *n = &c->nonsense;
    n->request = c->last_request;
    if (!random_chance(&n->random, h->spec.percent)) {
        fwrite(value, 1, len, out);
        return;
    }
    h->counts->nonsense++;
    if (random_chance(&n->random, 2))
        nonsense_protocol(n, out);
    else if (random_chance(&n->random, 10))
        nonsense_value(n, out);
    else
        nonsense_mutate(n, value, out);
}

/* Has one of these the form that it should have? */
typedef void answer_fn(struct hostile *h, struct connection *c, const char *value, size_t len, FILE *out);

static void send_answer(struct hostile *h, struct connection *c, const char *value, size_t len, answer_fn *fn)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fn(h, c, value, len, out);
    fclose(out);
    h->counts->replies++;
    send_all(c->caller, text, size);
    free(text);
}

static void make_up_answer(struct hostile *h, struct connection *c, const char *value, size_t len, FILE *out)
{
    (void)value, (void)len;
    make_up(h, c, out);
}

static void pass_on(struct hostile *h, struct connection *c, const char *value, size_t len, FILE *out)
{
    (void)h, (void)c;
    fwrite(value, 1, len, out);
}

static void make_up_message(struct hostile *h, struct connection *c, const char *value, size_t len, FILE *out)
{
    (void)value, (void)len;
    if (random_chance(&c->nonsense.random, 10))
        make_up(h, c, out);
    else
        nonsense_message(&c->nonsense, c->channel, out);
}

/* ---- connections ---- */

static int listen_at(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 64))
        fail_msg("nobody can listen at %s", path);
    return fd;
}

static int connect_to(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    return connect(fd, (struct sockaddr *)&a, sizeof a) ? -1 : fd;
}

static void end_connection(struct hostile *h, size_t i)
{
    struct connection *c = &h->all[i];
    close(c->caller);
    if (c->redis >= 0)
        close(c->redis);
    free(c->asked.data);
    free(c->answered.data);
    free(c->last_request);
    *c = h->all[--h->n];
}

static void accept_one(struct hostile *h)
{
    int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || h->n == CONNECTIONS_MAX) {
        close(fd);
        return;
    }
    h->all[h->n++] = (struct connection){
        .caller = fd,
        .redis = h->spec.relay_to ? connect_to(h->spec.relay_to) : -1,
        .nonsense = {.random = random_from(h->spec.seed * 1000 + h->n_accepted++)},
        .last_request = strdup("*1\r\n$4\r\nPING\r\n"),
    };
}

static void count_command(struct hostile *h)
{
    h->counts->commands++;
    if (now_ms() - h->window_at_ms >= 1000) {
        h->window_at_ms = now_ms();
        h->in_window = 0;
    }
    if (++h->in_window > h->counts->fastest)
        h->counts->fastest = h->in_window;
}

/* What is not Redis' to answer is a PING to it, whose answer tells when its turn has come. */
static void relay(struct hostile *h, struct connection *c, const char *request, size_t len)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    bool is_ours = (h->spec.only && !h->counts->is_mild && strstr(c->last_request, h->spec.only)) ||
                   (h->counts->refuses_in > 0 && --h->counts->refuses_in == 0);
    c->is_ours[c->n_relayed++ % RELAYED_MAX] = is_ours;
    if (h->counts->holds_in > 0 && --h->counts->holds_in == 0)
        c->held_from = c->n_relayed;
    send_all(c->redis, is_ours ? ping : request, is_ours ? sizeof ping - 1 : len);
}

static void relay_answer(struct hostile *h, struct connection *c, const char *value, size_t len)
{
    bool is_ours = c->is_ours[c->n_answered++ % RELAYED_MAX];
    h->counts->held += c->n_answered == c->held_from;
    if (c->held_from > 0 && c->n_answered >= c->held_from)
        return;
    const char *ours = h->spec.constant ? h->spec.constant : h->counts->refusal;
    if (is_ours)
        send_answer(h, c, ours, strlen(ours), pass_on);
    else
        send_answer(h, c, value, len, h->spec.only ? pass_on : change);
}

/* The requests that have come in whole. */
static bool hear_caller(struct hostile *h, struct connection *c)
{
    size_t len;
    if (!fill(&c->asked, c->caller))
        return false;
    while (c->asked.len > 0 && (len = resp_length(c->asked.data, c->asked.len)) > 0) {
        if (len == RESP_MALFORMED)
            return false;
        count_command(h);
        free(c->last_request);
        c->last_request = calloc(1, len + 1);
        memcpy(c->last_request, c->asked.data, len);
        if (subscribes(c->last_request) && (!*c->channel || random_chance(&c->nonsense.random, 50)))
            copy_word(c->channel, sizeof c->channel, c->last_request, 1);
        if (c->redis >= 0)
            relay(h, c, c->asked.data, len);
        else
            send_answer(h, c, NULL, 0, make_up_answer);
        use_up(&c->asked, len);
    }
    return true;
}

static bool hear_redis(struct hostile *h, struct connection *c)
{
    size_t len;
    if (!fill(&c->answered, c->redis))
        return false;
    while (c->answered.len > 0 && (len = resp_length(c->answered.data, c->answered.len)) > 0) {
        if (len == RESP_MALFORMED)
            return false;
        relay_answer(h, c, c->answered.data, len);
        use_up(&c->answered, len);
    }
    return true;
}

static void speak_unasked(struct hostile *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (*h->all[i].channel && h->all[i].redis < 0 && !h->spec.constant)
            send_answer(h, &h->all[i], NULL, 0, make_up_message);
}

static void run(struct hostile *h)
{
    for (;;) {
        struct pollfd fds[1 + 2 * CONNECTIONS_MAX] = {{.fd = h->listener, .events = POLLIN}};
        size_t n = h->n;
        for (size_t i = 0; i < n; i++) {
            fds[1 + 2 * i] = (struct pollfd){.fd = h->all[i].caller, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = h->all[i].redis, .events = POLLIN};
        }
        int ready = poll(fds, 1 + 2 * n, MESSAGE_EVERY_MS);
        if (ready < 0)
            _exit(1);
        if (ready == 0)
            speak_unasked(h);
        for (size_t i = n; i-- > 0;) {
            bool is_open = !fds[1 + 2 * i].revents || hear_caller(h, &h->all[i]);
            is_open = is_open && (!fds[2 + 2 * i].revents || hear_redis(h, &h->all[i]));
            if (!is_open)
                end_connection(h, i);
        }
        if (fds[0].revents)
            accept_one(h);
    }
}

/* ---- the test ---- */

void hostile_server_start(struct hostile_server *h, const char *dir, const struct hostile_spec *spec)
{
    char path[100];
    snprintf(path, sizeof path, "%s/hostile.sock", dir);
    snprintf(h->url, sizeof h->url, "unix://%s", path);
    if (!h->counts) {
        h->counts = mmap(NULL, sizeof *h->counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(h->counts != MAP_FAILED);
    }
    h->counts->fastest = 0;
    int listener = listen_at(path);
    h->pid = child_fork();
    if (h->pid == 0) {
        static struct hostile state;
        state.spec = *spec;
        state.counts = h->counts;
        state.listener = listener;
        run(&state);
    }
    close(listener);
}

void hostile_server_stop(struct hostile_server *h)
{
    child_kill(&h->pid);
}

uint64_t hostile_server_fastest(struct hostile_server *h)
{
    return atomic_exchange(&h->counts->fastest, 0);
}
