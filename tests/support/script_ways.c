/* SPDX-License-Identifier: MIT */
#include "script_ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *ways_replaced(char *text, const char *from, const char *to)
{
    char *whole = NULL, *at = text;
    size_t len;
    FILE *out = open_memstream(&whole, &len);
    assert_non_null(strstr(text, from));
    for (char *found; (found = strstr(at, from)); at = found + strlen(from))
        fprintf(out, "%.*s%s", (int)(found - at), at, to);
    fputs(at, out);
    fclose(out);
    free(text);
    return whole;
}

char *ways_clock_stopped(enum script_id id)
{
    const struct lua_script *script = &lua_scripts[id];
    return ways_replaced(strndup((const char *)script->body, script->len), "redis.call('TIME')",
                         "{'1790000000', '123456'}");
}

static redisReply *carry_out(struct scene *s, const char *script, const struct ways_call *call)
{
    char root[20];
    const char *argv[32] = {"EVAL", script, "1", root};
    int argc = 4;
    snprintf(root, sizeof root, "%s:", s->prefix);
    for (int i = 0; i < call->argc; i++)
        argv[argc++] = call->argv[i];
    argv[argc++] = s->prefix;
    redisReply *reply = redisCommandArgv(s->server->redis, argc, argv, NULL);
    assert_non_null(reply);
    return reply;
}

static void print_answer(FILE *out, const redisReply *reply)
{
    fprintf(out, "type %d: %lld ", reply->type, reply->integer);
    /* The text of an error names the line, which differs. */
    if (reply->type == REDIS_REPLY_ERROR)
        fprintf(out, "%.*s", (int)strcspn(reply->str, " "), reply->str);
    else if (reply->str)
        fputs(reply->str, out);
    for (size_t i = 0; i < reply->elements; i++)
        print_answer(out, reply->element[i]);
    fputc('\n', out);
}

char *ways_outcome(struct scene *s, struct acting_worker *ear, const char *script, const struct ways_call *call)
{
    char *text = NULL;
    size_t len;
    raw_do(s->server->redis, "FLUSHALL");
    raw_do(s->server->redis, "EVAL %s 1 %s: %ld", call->state, s->prefix, (long)call->seed);
    if (call->is_full)
        raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    redisReply *reply = carry_out(s, script, call);
    if (call->is_full)
        raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    char *heard = acting_heard(ear), *keys = dump_of_all(s);
    FILE *out = open_memstream(&text, &len);
    print_answer(out, reply);
    fprintf(out, "%s%s", heard, keys);
    fclose(out);
    freeReplyObject(reply);
    free(heard);
    free(keys);
    return text;
}

void ways_open_ear(struct acting_worker *ear, struct scene *s)
{
    ear->ear = redisConnectUnix(s->server->socket);
    assert_non_null(ear->ear);
    const char *const commands[] = {"SSUBSCRIBE %s:wake:w1", "SSUBSCRIBE %s:wake:w2", "PSUBSCRIBE %s_q*"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        redisReply *reply = redisCommand(ear->ear, commands[i], s->prefix);
        assert_non_null(reply);
        assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
        freeReplyObject(reply);
    }
}

void ways_compare(struct scene *s, struct acting_worker *ear, char *const ways[2], const struct ways_call *call)
{
    char *one = ways_outcome(s, ear, ways[0], call), *other = ways_outcome(s, ear, ways[1], call);
    if (strcmp(one, other) != 0)
        fail_msg("seed %ld: as it is: %.1500s\nwithout the straight way: %.1500s", (long)call->seed, one, other);
    free(one);
    free(other);
}
