/* SPDX-License-Identifier: MIT
 *
 * A fuzzer for what a server answers. The first byte of the input says how many answers were asked for, and whether
 * there is a subscription; the second how large the pieces are in which the rest is read. Whatever comes, reading it in
 * one piece and in many gives the same replies and the same end, the end is final, and everything that is read from a
 * reply, or by a greeting, stays within it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/greeting.h"
#include "redis/wire_in.h"

#define ASKED 0x0f
#define LISTENS 0x10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "it does not hold: %s\n", what);
        abort();
    }
}

/* ---- what was read ---- */

static uint64_t mix(uint64_t digest, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        digest = (digest ^ bytes[i]) * 0x100000001b3;
    return digest;
}

static uint64_t mix_number(uint64_t digest, long long number)
{
    return mix(digest, &number, sizeof number);
}

/* Everything that can be asked of a reply. */
static uint64_t look(uint64_t digest, const struct redisReply *r, int depth)
{
    struct muster_bytes bytes = reply_bytes(r);
    must(depth <= GUARD_DEPTH_MAX, "no reply is deeper than the bound");
    must(!bytes.data || ((const char *)bytes.data)[bytes.len] == '\0', "a text ends with a NUL");
    digest = mix_number(digest, reply_kind(r));
    digest = mix_number(digest, reply_integer(r));
    digest = mix_number(digest, reply_number(r, -1));
    digest = mix_number(digest, (long long)reply_count(r));
    digest = mix_number(digest, reply_time_ms(r));
    digest = mix_number(digest, reply_status(r));
    digest = mix_number(digest, reply_err(r));
    digest = mix(digest, bytes.data, bytes.len);
    must(!reply_field(r, "version") || reply_len(r) > 1, "a field has a value");
    for (size_t i = 0; i < reply_len(r); i++)
        digest = look(digest, reply_at(r, i), depth + 1);
    must(reply_at(r, reply_len(r)) == NULL, "nothing is beyond the end");
    return digest;
}

static char host[] = "h", user[] = "u", password[] = "p", master[] = "m";
static struct url_node node = {host, 1};

/* The replies as answers to a greeting, as far as it goes. */
struct greeted {
    struct url url;
    struct place place;
    struct greeting greeting;
    bool is_over;
};

static void begin_greeting(struct greeted *g, enum url_kind kind)
{
    g->url = (struct url){.kind = kind,
                          .nodes = &node,
                          .n_nodes = 1,
                          .user = user,
                          .password = password,
                          .db = kind == URL_SINGLE ? 3 : 0,
                          .master = kind == URL_SENTINEL ? master : NULL};
    place_init(&g->place, &g->url);
    g->greeting = (struct greeting){.url = &g->url,
                                    .place = &g->place,
                                    .is_handed_in = false,
                                    .root_key = "{p}:",
                                    .format_key = "{p}:format",
                                    .prefix = "{p}"};
    for (bool has_more = true; has_more;) {
        struct command c = COMMAND_EMPTY;
        has_more = greeting_say(&g->greeting, &c);
        command_clear(&c);
    }
}

static void greet(struct greeted *g, const struct redisReply *reply)
{
    if (g->is_over)
        return;
    int err = greeting_hear(&g->greeting, reply);
    must((err != MUSTER_OK) == (*g->greeting.why != '\0'), "a refusal has words, and nothing else has");
    g->is_over = err != MUSTER_OK || greeting_is_over(&g->greeting);
}

/* ---- reading ---- */

static uint64_t hear(struct wire_in *in, uint64_t digest, struct greeted *greeted)
{
    struct redisReply *reply;
    while (wire_in_next(in, &reply) == MUSTER_OK && reply) {
        digest = look(digest, reply, 0);
        digest = mix_number(digest, in->was_pushed);
        if (in->was_pushed)
            must(reply_len(reply) == 3 && reply_text(reply_at(reply, 0)) && reply_text(reply_at(reply, 1)),
                 "what is pushed has a word and a channel");
        for (int kind = URL_SINGLE; kind <= URL_SENTINEL; kind++)
            greet(&greeted[kind], reply);
        freeReplyObject(reply);
    }
    return digest;
}

static uint64_t read_all(uint8_t how, const uint8_t *data, size_t size, size_t piece)
{
    struct wire_in in;
    struct greeted greeted[URL_SENTINEL + 1] = {0};
    uint64_t digest = 0xcbf29ce484222325;
    must(wire_in_init(&in) == MUSTER_OK, "there is memory");
    in.guard.asked = how & ASKED;
    in.guard.listens = how & LISTENS;
    for (int kind = URL_SINGLE; kind <= URL_SENTINEL; kind++)
        begin_greeting(&greeted[kind], (enum url_kind)kind);
    for (size_t at = 0; at < size && in.err == MUSTER_OK; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        must(wire_in_feed(&in, (const char *)data + at, n) == MUSTER_OK, "what is sound can be fed");
        digest = hear(&in, digest, greeted);
    }
    if (in.err != MUSTER_OK) {
        struct redisReply *none;
        must(wire_in_next(&in, &none) == in.err && !none, "the end is final");
        must(*in.why, "the end has words");
    }
    must(in.guard.asked <= (how & ASKED), "no answer is counted twice");
    digest = mix_number(digest, in.err);
    digest = mix(digest, in.why, strlen(in.why));
    wire_in_clear(&in);
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t piece = (size_t)data[1] % 64 + 1;
    must(read_all(data[0], data + 2, size - 2, size) == read_all(data[0], data + 2, size - 2, piece),
         "in pieces it is the same");
    return 0;
}
