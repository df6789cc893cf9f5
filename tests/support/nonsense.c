/* SPDX-License-Identifier: MIT
 *
 * Answers that no Redis would give.
 */
#include <string.h>

#include "nonsense.h"
#include "resp.h"
#include "testing.h"

#define DEPTH_MAX 6
#define BUDGET 3000

/* What the library looks for in answers, and what is at the edges of that. */
static const char *const texts[] = {"",
                                    "0",
                                    "1",
                                    "-1",
                                    "2",
                                    "7",
                                    "100",
                                    "-",
                                    "d",
                                    "j",
                                    "q",
                                    "o",
                                    "w",
                                    ".lease",
                                    "PONG",
                                    "OK",
                                    "1abc",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "9223372036854775808",
                                    "99999999999999999999999",
                                    "2147483648",
                                    "1.5",
                                    "-0.1",
                                    "1e400",
                                    "nan",
                                    "inf",
                                    "00000000000",
                                    "00000000001",
                                    "0000000000a",
                                    "vvvvvvvvvvv",
                                    "j00000000001",
                                    "jvvvvvvvvvvv",
                                    "state",
                                    "queue",
                                    "data",
                                    "tags",
                                    "token",
                                    "worker",
                                    "priority",
                                    "retries",
                                    "due",
                                    "since",
                                    "every",
                                    "epoch",
                                    "ttl",
                                    "hands",
                                    "held",
                                    "started",
                                    "q:q",
                                    "q:",
                                    "g:g",
                                    "g:",
                                    "jobs",
                                    "wait:0",
                                    "wait_ms",
                                    "waiting",
                                    "running",
                                    "scheduled",
                                    "depends",
                                    "failed",
                                    "complete",
                                    "recurring",
                                    "message",
                                    "subscribe",
                                    "unsubscribe",
                                    "psubscribe",
                                    "pmessage",
                                    "smessage",
                                    "ssubscribe",
                                    "sunsubscribe",
                                    "muster",
                                    "a\tb\tc",
                                    "put\t1\tq\tid\tw\t1\ttext",
                                    "1\tput\ttext",
                                    "\t\t\t\t\t\t\t",
                                    "a\nb\n\nc",
                                    "\x1b[2J",
                                    "\xff\xfe",
                                    "00000000001:0:0:0:",
                                    "00000000001:1:1:1:wgmtask",
                                    "j00000000001:1:1:1:wgmwaiting",
                                    "00000000001:999999999999:0:0:x",
                                    "00000000001:-1:0:0:x",
                                    "1:1:-:aqt",
                                    "999999999999:1:1:",
                                    "T00000000001000000000010 01q1task",
                                    "T0000000000100000000001001qtask",
                                    "T0000000000100000000002999q",
                                    "F0000000000100000000003001q",
                                    "J0000000000100000000004001q",
                                    "A000000000010000000000511001q",
                                    "E0000000000100000000001",
                                    "S00000000001",
                                    "C000000000010000000000100000000002",
                                    "C0000000000100",
                                    "D0000000000100000000001",
                                    "R00000000001"};

static const char *const errors[] = {"ERR no",
                                     "",
                                     " ",
                                     "OOM command not allowed when used memory > 'maxmemory'.",
                                     "NOSCRIPT No matching script. Please use EVAL.",
                                     "LOADING Redis is loading the dataset in memory",
                                     "BUSY Redis is busy running a script.",
                                     "READONLY You can't write against a read only replica.",
                                     "NOPERM this user has no permissions",
                                     "NOAUTH Authentication required.",
                                     "WRONGTYPE Operation against a key holding the wrong kind of value",
                                     "MOVED 1 127.0.0.1:1",
                                     "max number of clients reached",
                                     "%s%n%s%n"};

static const long long numbers[] = {0,
                                    0,
                                    0,
                                    1,
                                    1,
                                    -1,
                                    -2,
                                    -3,
                                    -7,
                                    -20,
                                    -1000,
                                    2,
                                    3,
                                    5,
                                    100,
                                    1000,
                                    100000,
                                    INT32_MAX,
                                    INT32_MIN,
                                    (long long)INT32_MAX + 1,
                                    (long long)INT32_MIN - 1,
                                    1700000000000,
                                    1700000000000000,
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT64_MAX / 1000,
                                    INT64_MIN + 1};

static const size_t lengths[] = {0,  0,  1,  1,  2,  2,  3,  3,  4,   5,   6,   7,  9,
                                 10, 11, 12, 16, 17, 32, 33, 40, 100, 101, 200, 250};

static void put_bytes(FILE *out, const char *data, size_t len)
{
    fprintf(out, "$%zu\r\n", len);
    fwrite(data, 1, len, out);
    fputs("\r\n", out);
}

static void put_long_text(struct nonsense *n, FILE *out)
{
    static const size_t sizes[] = {65, 199, 201, 512, 4096, 70000};
    static char text[70000];
    memset(text, 'a' + (int)random_below(&n->random, 26), sizeof text);
    put_bytes(out, text, sizes[random_below(&n->random, N_OF(sizes))]);
}

/* A word of the request; its first one if it has none other. */
static void put_echo(struct nonsense *n, FILE *out)
{
    struct resp request = resp_open(n->request);
    const char *at = request.body;
    for (size_t skip = random_below(&n->random, (size_t)request.n); skip > 0; skip--)
        at = resp_skip(at);
    struct resp word = resp_open(at);
    if (word.type == '$' && word.n >= 0)
        put_bytes(out, word.body, (size_t)word.n);
    else
        put_bytes(out, "", 0);
}

static void put_text(struct nonsense *n, FILE *out)
{
    size_t kind = random_below(&n->random, 20);
    if (kind == 0)
        put_long_text(n, out);
    else if (kind == 1)
        put_bytes(out, "a\0b", 3);
    else if (kind == 2)
        put_bytes(out, "\0\0\0\0\0\0\0\0\0\0\0", 11);
    else if (kind <= 6 && n->request && *n->request == '*')
        put_echo(n, out);
    else {
        const char *text = texts[random_below(&n->random, N_OF(texts))];
        put_bytes(out, text, strlen(text));
    }
}

static void put_number(struct nonsense *n, FILE *out)
{
    fprintf(out, ":%lld\r\n", numbers[random_below(&n->random, N_OF(numbers))]);
}

static void put_any(struct nonsense *n, FILE *out, int depth, int *budget);

static void put_list(struct nonsense *n, FILE *out, int depth, int *budget)
{
    size_t len = lengths[random_below(&n->random, N_OF(lengths))];
    len = *budget <= 0 ? 0 : len;
    *budget -= (int)len;
    fprintf(out, "*%zu\r\n", len);
    bool is_texts = random_chance(&n->random, 50);
    for (size_t i = 0; i < len; i++) {
        if (is_texts)
            put_text(n, out);
        else
            put_any(n, out, depth + 1, budget);
    }
}

static void put_any(struct nonsense *n, FILE *out, int depth, int *budget)
{
    size_t kind = random_below(&n->random, 20);
    if (kind < 5)
        put_number(n, out);
    else if (kind < 11)
        put_text(n, out);
    else if (kind < 15 && depth < DEPTH_MAX)
        put_list(n, out, depth, budget);
    else if (kind < 16)
        fputs("*-1\r\n", out);
    else if (kind < 18)
        fputs("$-1\r\n", out);
    else if (kind < 19)
        fputs("+OK\r\n", out);
    else
        fprintf(out, "-%s\r\n", errors[random_below(&n->random, N_OF(errors))]);
}

void nonsense_value(struct nonsense *n, FILE *out)
{
    int budget = BUDGET;
    put_any(n, out, 0, &budget);
}

void nonsense_script(struct nonsense *n, FILE *out)
{
    int budget = BUDGET;
    size_t len = 1 + random_below(&n->random, 16);
    fprintf(out, "*%zu\r\n:0\r\n", len);
    for (size_t i = 1; i < len; i++)
        put_any(n, out, 1, &budget);
}

/* What is pushed to a subscriber, but for one part of it. hiredis asserts that there is none of these. */
static const char *const pushes[] = {"*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\nx\r\n",
                                     "*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nx\r\n",
                                     "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$-1\r\n",
                                     "*3\r\n+message\r\n$1\r\nc\r\n$1\r\nx\r\n",
                                     "*3\r\n$-1\r\n$1\r\nc\r\n$1\r\nx\r\n",
                                     "*3\r\n$8\r\nsmessage\r\n$-1\r\n$1\r\nx\r\n",
                                     "*3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n:1\r\n",
                                     "*3\r\n$10\r\nssubscribe\r\n$-1\r\n:1\r\n",
                                     "*3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n",
                                     "*3\r\n$9\r\nsubscribe\r\n$-1\r\n:1\r\n",
                                     "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n$1\r\n1\r\n",
                                     "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n",
                                     "*3\r\n*1\r\n:1\r\n*0\r\n*-1\r\n",
                                     "*2\r\n$7\r\nmessage\r\n$1\r\nc\r\n",
                                     "*1\r\n$7\r\nmessage\r\n",
                                     "*0\r\n",
                                     "*-1\r\n",
                                     "$-1\r\n",
                                     ":1\r\n",
                                     "+PONG\r\n"};

void nonsense_message(struct nonsense *n, const char *channel, FILE *out)
{
    if (random_chance(&n->random, 20)) {
        fputs(pushes[random_below(&n->random, N_OF(pushes))], out);
        return;
    }
    const char *kind = strstr(channel, ":wake:") ? "smessage" : "message";
    fprintf(out, "*3\r\n$%zu\r\n%s\r\n", strlen(kind), kind);
    put_bytes(out, channel, strlen(channel));
    put_text(n, out);
}

/* ---- mutating ---- */

/* A list with elements left out, or given again and again. */
static void mutate_list(struct nonsense *n, const char *value, FILE *out)
{
    struct resp v = resp_open(value);
    size_t len = lengths[random_below(&n->random, N_OF(lengths))];
    fprintf(out, "*%zu\r\n", len);
    const char *at = v.body;
    for (size_t i = 0; i < len; i++) {
        if (i % (size_t)v.n == 0)
            at = v.body;
        const char *next = resp_skip(at);
        fwrite(at, 1, (size_t)(next - at), out);
        at = next;
    }
}

static void mutate_bytes(struct nonsense *n, const char *value, FILE *out)
{
    struct resp v = resp_open(value);
    size_t len = (size_t)v.n;
    if (random_chance(&n->random, 50)) {
        put_bytes(out, v.body, random_below(&n->random, len + 1));
    } else { /* one byte changed */
        fprintf(out, "$%zu\r\n", len);
        size_t at = random_below(&n->random, len + 1);
        for (size_t i = 0; i < len; i++)
            fputc(i == at ? (int)random_below(&n->random, 256) : v.body[i], out);
        fputs("\r\n", out);
    }
}

static void mutate_one(struct nonsense *n, const char *value, FILE *out)
{
    struct resp v = resp_open(value);
    int budget = 200;
    if (v.type == '*' && v.n > 0 && random_chance(&n->random, 60))
        mutate_list(n, value, out);
    else if (v.type == '$' && v.n > 0 && random_chance(&n->random, 50))
        mutate_bytes(n, value, out);
    else if (v.type == ':' && random_chance(&n->random, 60))
        put_number(n, out);
    else
        put_any(n, out, 3, &budget);
}

static const char *copy_but_one(struct nonsense *n, const char *value, FILE *out, size_t *left)
{
    struct resp v = resp_open(value);
    if ((*left)-- == 0) {
        mutate_one(n, value, out);
        *left = SIZE_MAX;
        return resp_skip(value);
    }
    if (v.type != '*' || v.n <= 0) {
        const char *end = resp_skip(value);
        fwrite(value, 1, (size_t)(end - value), out);
        return end;
    }
    fwrite(value, 1, (size_t)(v.body - value), out);
    const char *at = v.body;
    for (long long i = 0; i < v.n; i++)
        at = copy_but_one(n, at, out, left);
    return at;
}

void nonsense_mutate(struct nonsense *n, const char *value, FILE *out)
{
    size_t left = random_below(&n->random, resp_count(value));
    copy_but_one(n, value, out, &left);
}

void nonsense_protocol(struct nonsense *n, FILE *out)
{
    static const char *const lies[] = {"*1000000000\r\n",
                                       "*2147483647\r\n",
                                       "*4294967297\r\n",
                                       "*-2\r\n",
                                       "*3\r\n:0\r\n",
                                       "*2\r\n$3\r\nabc\r\n",
                                       "$536870912\r\n",
                                       "$2147483647\r\nabc\r\n",
                                       "$99999999999999999999\r\n",
                                       "$-5\r\n",
                                       "$5\r\nabc\r\n\r\n:1\r\n",
                                       ":99999999999999999999\r\n",
                                       ":\r\n",
                                       ":1x\r\n",
                                       "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
                                       ":0\r\n:0\r\n",
                                       "+OK\r\n$2\r\nok\r\n*0\r\n",
                                       "%1\r\n+a\r\n:1\r\n",
                                       "_\r\n",
                                       "HTTP/1.1 400 Bad Request\r\n\r\n",
                                       "\r\n",
                                       "\0\0\0\0"};
    const char *lie = lies[random_below(&n->random, N_OF(lies))];
    fwrite(lie, 1, *lie ? strlen(lie) : 4, out);
}
