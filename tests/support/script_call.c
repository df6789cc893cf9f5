/* SPDX-License-Identifier: MIT
 *
 * The scripts, called directly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "script_call.h"

enum { ARGS_MAX = 12000 };

/* ---- calls and answers ---- */

/* A call by the script's digest, or with its body: then Redis computes that digest anew. Returns how many words. */
static int words_of(struct scene *s, enum script_id id, const char *const *args, bool by_digest, const char **argv,
                    size_t *lens)
{
    static char root[20];
    int n = 4;
    snprintf(root, sizeof root, "%s:", s->prefix);
    argv[0] = by_digest ? "EVALSHA" : "EVAL";
    argv[1] = by_digest ? lua_scripts[id].sha1 : (const char *)lua_scripts[id].body;
    argv[2] = "1";
    argv[3] = root;
    for (; *args; args++) {
        assert_true(n < ARGS_MAX - 1);
        argv[n++] = *args;
    }
    argv[n++] = s->prefix; /* the root of all channels in database 0 */
    for (int i = 0; i < n; i++)
        lens[i] = i == 1 && !by_digest ? lua_scripts[id].len : strlen(argv[i]);
    return n;
}

/* With its body: what tests call so does not count among the calls of EVALSHA, which are the library's. */
redisReply *script_call_list(struct scene *s, enum script_id id, const char *const *args)
{
    static const char *argv[ARGS_MAX];
    static size_t lens[ARGS_MAX];
    int n = words_of(s, id, args, false, argv, lens);
    redisReply *reply = redisCommandArgv(s->server->redis, n, argv, lens);
    if (!reply)
        fail_msg("%s.lua: no answer: %s", lua_scripts[id].name, s->server->redis->errstr);
    return reply;
}

void script_call_append(struct scene *s, enum script_id id, const char *const *args)
{
    static const char *argv[ARGS_MAX];
    static size_t lens[ARGS_MAX];
    int n = words_of(s, id, args, true, argv, lens);
    assert_int_equal(redisAppendCommandArgv(s->server->redis, n, argv, lens), REDIS_OK);
}

static void assert_no_error(redisReply *reply)
{
    char text[200];
    if (reply->type != REDIS_REPLY_ERROR)
        return;
    snprintf(text, sizeof text, "%s", reply->str);
    freeReplyObject(reply);
    fail_msg("a script answers %s", text);
}

int script_status(redisReply *reply)
{
    assert_no_error(reply);
    const redisReply *first = reply->type == REDIS_REPLY_ARRAY ? reply->element[0] : reply;
    assert_int_equal(first->type, REDIS_REPLY_INTEGER);
    int status = (int)first->integer;
    freeReplyObject(reply);
    return status;
}

void script_assert_answer(redisReply *reply, const long long *expected, size_t n)
{
    assert_no_error(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    bool good = reply->elements >= n;
    for (size_t i = 0; i < n && i < reply->elements; i++) {
        const redisReply *one = reply->element[i];
        if (one->type == REDIS_REPLY_INTEGER && one->integer == expected[i])
            continue;
        print_error("element %zu is %lld, expected %lld\n", i, one->integer, expected[i]);
        good = false;
    }
    freeReplyObject(reply);
    assert_true(good);
}

/* ---- workers ---- */

static void listen_to(struct acting_worker *w)
{
    w->ear = redisConnectUnix(w->scene->server->socket);
    assert_non_null(w->ear);
    assert_int_equal(w->ear->err, 0);
    raw_do(w->ear, "SSUBSCRIBE %s:wake:%s", w->scene->prefix, w->id);
}

void acting_start(struct acting_worker *w, struct scene *s)
{
    static int n_starts;
    char nonce[16], ttl[16], hands[16], limit[16];
    w->scene = s;
    w->conn = 0;
    snprintf(nonce, sizeof nonce, "n%d", ++n_starts);
    snprintf(ttl, sizeof ttl, "%d", w->ttl_ms ? w->ttl_ms : 3600000);
    snprintf(hands, sizeof hands, "%d", w->hands);
    snprintf(limit, sizeof limit, "%d", w->limit);
    if (w->hears)
        listen_to(w);
    redisReply *reply = script_call(s, SCRIPT_START, w->id, nonce, ttl, hands, "host", "1", "test", FORMAT_VERSION,
                                    w->permanent ? "1" : "0", w->resumes ? "1" : "0");
    assert_no_error(reply);
    assert_int_equal(reply->element[0]->integer, 0);
    snprintf(w->epoch, sizeof w->epoch, "%s", reply->element[1]->str);
    freeReplyObject(reply);
    for (int i = 0; w->queues[i]; i++)
        assert_ok(script_does(s, SCRIPT_SERVE, w->id, w->epoch, "0", w->queues[i], limit, hands));
    while (w->resumes && acting_take_up(w))
        ;
}

bool acting_take_up(struct acting_worker *w)
{
    const char *args[3 + N_OF(w->queues) + 1] = {w->id, w->epoch, "0"};
    for (size_t i = 0; w->queues[i]; i++)
        args[3 + i] = w->queues[i];
    redisReply *reply = script_call_list(w->scene, SCRIPT_TAKE_UP, args);
    assert_no_error(reply);
    assert_int_equal(reply->element[0]->integer, 0);
    bool is_more = reply->element[2]->integer == 1;
    freeReplyObject(reply);
    return is_more;
}

void acting_die(struct acting_worker *w)
{
    raw_do(w->scene->server->redis, "DEL %s:alive:%s", w->scene->prefix, w->id);
    raw_do(w->scene->server->redis, "ZADD %s:registry 1 %s", w->scene->prefix, w->id);
    acting_forget(w);
}

void acting_forget(struct acting_worker *w)
{
    if (w->ear)
        redisFree(w->ear);
    w->ear = NULL;
}

const char *const *acting_turn_args(const struct acting_worker *w, bool takes, const char *const *ends)
{
    static const char *args[ARGS_MAX];
    static char conn[16], hands[16], limit[16], n_queues[24];
    size_t n = 7, first;
    snprintf(conn, sizeof conn, "%d", w->conn);
    snprintf(hands, sizeof hands, "%d", w->hands);
    snprintf(limit, sizeof limit, "%d", w->limit);
    const char *const head[] = {w->id, w->epoch, conn, hands, takes ? hands : "0", "0", n_queues};
    memcpy(args, head, sizeof head);
    for (first = n; w->queues[(n - first) / 2]; n += 2) {
        args[n] = w->queues[(n - first) / 2];
        args[n + 1] = limit;
    }
    snprintf(n_queues, sizeof n_queues, "%zu", (n - first) / 2);
    for (; *ends; ends++) {
        assert_true(n < ARGS_MAX - 1);
        args[n++] = *ends;
    }
    args[n] = NULL;
    return args;
}

redisReply *acting_turn_list(struct acting_worker *w, bool takes, const char *const *ends)
{
    return script_call_list(w->scene, SCRIPT_TURN, acting_turn_args(w, takes, ends));
}

void acting_say_list(struct acting_worker *w, const char *const *ends)
{
    assert_answer(acting_turn_list(w, false, ends), 0, 0);
}

void acting_take(struct acting_worker *w)
{
    assert_answer(acting_turn_list(w, true, (const char *const[]){NULL}), 0, 0);
}

/* For scripts whose only arguments are the caller. */
static int say(struct acting_worker *w, enum script_id id)
{
    char conn[16];
    snprintf(conn, sizeof conn, "%d", w->conn);
    return script_does(w->scene, id, w->id, w->epoch, conn);
}

int acting_heartbeat(struct acting_worker *w)
{
    char conn[16], hands[16], limit[16];
    snprintf(conn, sizeof conn, "%d", w->conn);
    snprintf(limit, sizeof limit, "%d", w->limit);
    snprintf(hands, sizeof hands, "%d", w->hands);
    const char *args[6 + 2 * N_OF(w->queues) + 1] = {w->id, w->epoch, conn, hands, "0", "1"};
    for (size_t i = 0; w->queues[i]; i++) {
        args[6 + 2 * i] = w->queues[i];
        args[7 + 2 * i] = limit;
    }
    return script_status(script_call_list(w->scene, SCRIPT_HEARTBEAT, args));
}

int acting_readback(struct acting_worker *w)
{
    return say(w, SCRIPT_READBACK);
}

int acting_stop(struct acting_worker *w)
{
    return say(w, SCRIPT_STOP);
}

int acting_leave(struct acting_worker *w, const char *queue)
{
    char conn[16], hands[16];
    snprintf(conn, sizeof conn, "%d", w->conn);
    snprintf(hands, sizeof hands, "%d", w->hands);
    return script_does(w->scene, SCRIPT_LEAVE, w->id, w->epoch, conn, hands, queue);
}

/* A PING brings everything before its own answer. */
char *acting_heard(struct acting_worker *w)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    redisAppendCommand(w->ear, "PING end");
    for (bool is_end = false; !is_end;) {
        void *reply = NULL;
        assert_int_equal(redisGetReply(w->ear, &reply), REDIS_OK);
        const redisReply *r = reply;
        is_end = r->elements == 2;
        if (!is_end && r->elements >= 3) { /* four, if a pattern is subscribed */
            const redisReply *message = r->element[r->elements - 1];
            fwrite(message->str, 1, (size_t)message->len, out);
            fputc('\n', out);
        }
        freeReplyObject(reply);
    }
    fclose(out);
    return text;
}

/* ---- looking ---- */

void token_of_task(struct scene *s, const char *holder, const char *queue, const char *task, char token[12])
{
    static const char find[] = "local h = redis.call('HGETALL', KEYS[1])\n"
                               "for i = 2, #h, 2 do if h[i] == ARGV[1] then return h[i - 1] end end";
    char *found =
        raw_string(s->server->redis, "EVAL %s 1 %s:processing:%s:%s %s", find, s->prefix, holder, queue, task);
    if (!found)
        fail_msg("%s has no %s of %s", holder, task, queue);
    snprintf(token, 12, "%s", found);
    free(found);
}

char *waiting_tasks(struct scene *s, const char *queue)
{
    static const char list[] =
        "local P, q, text = KEYS[1] .. ':', ARGV[1], ''\n"
        "for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'returned:' .. q, 0, '+inf')) do\n"
        "  local field, home = string.match(member, '^(.*):(.-)$')\n"
        "  text = text .. redis.call('HGET', P .. 'home:' .. home .. ':' .. q, field) .. ' '\n"
        "end\n"
        "local all = redis.call('LRANGE', P .. 'queues:' .. q, 0, -1)\n"
        "for i = #all, 1, -1 do text = text .. all[i] .. ' ' end\n"
        "return text";
    return raw_string(s->server->redis, "EVAL %s 1 %s %s", list, s->prefix, queue);
}

char *queued_tasks(struct scene *s, const char *queue)
{
    static const char lua[] = "local P, q = KEYS[1] .. ':', ARGV[1]\n"
                              "local all = redis.call('LRANGE', P .. 'queues:' .. q, 0, -1)\n"
                              "for _, member in ipairs(redis.call('ZRANGE', P .. 'returned:' .. q, 0, -1, 'REV')) do\n"
                              "  local field, home = string.match(member, '^(.*):(.-)$')\n"
                              "  all[#all + 1] = redis.call('HGET', P .. 'home:' .. home .. ':' .. q, field)\n"
                              "end\n"
                              "return all";
    return raw_string(s->server->redis, "EVAL %s 1 %s %s", lua, s->prefix, queue);
}

void assert_waiting(struct scene *s, const char *queue, const char *tasks)
{
    char *waiting = waiting_tasks(s, queue);
    bool good = strcmp(waiting, tasks) == 0;
    if (!good)
        print_error("'%s' wait, expected '%s'\n", waiting, tasks);
    free(waiting);
    assert_true(good);
}

int64_t queue_field(struct scene *s, const char *queue, const char *field)
{
    return raw_int(s->server->redis, "HGET %s:queue:%s %s", s->prefix, queue, field);
}

char *dump_of_all(struct scene *s)
{
    static const char dump[] = "local cursor, lines = '0', {}\n"
                               "repeat\n"
                               "  local page = redis.call('SCAN', cursor, 'COUNT', 10000)\n"
                               "  cursor = page[1]\n"
                               "  for _, key in ipairs(page[2]) do\n"
                               "    lines[#lines + 1] = key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) .. '\\n'\n"
                               "  end\n"
                               "until cursor == '0'\n"
                               "table.sort(lines)\n"
                               "return table.concat(lines)";
    return raw_string(s->server->redis, "EVAL %s 0", dump);
}
