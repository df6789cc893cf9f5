/* SPDX-License-Identifier: MIT
 *
 * A guard on what hiredis reads. It stands in for the functions that make the parts of a reply; if one of them returns
 * NULL, hiredis takes it for a lack of memory and breaks the connection.
 */
#include "redis/guard.h"

static bool is_let_through(struct guard *g, const struct guard_part *part)
{
    if (part->task->type == REDIS_REPLY_ARRAY && part->n > GUARD_LIST_MAX)
        g->refused = "an answer has a list of more elements than muster ever asks for";
    else if (g->expects && !g->expects(g->arg, part))
        g->refused = "it answers what was not asked";
    else
        return true;
    return false;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    struct guard *g = task->privdata;
    const struct guard_part part = {task, text, len};
    return is_let_through(g, &part) ? g->plain->createString(task, text, len) : NULL;
}

static void *make_array(const redisReadTask *task, int n)
{
    struct guard *g = task->privdata;
    const struct guard_part part = {task, NULL, n > 0 ? (size_t)n : 0};
    return is_let_through(g, &part) ? g->plain->createArray(task, n) : NULL;
}

static void *make_integer(const redisReadTask *task, long long number)
{
    struct guard *g = task->privdata;
    const struct guard_part part = {task, NULL, 0};
    return is_let_through(g, &part) ? g->plain->createInteger(task, number) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
    struct guard *g = task->privdata;
    const struct guard_part part = {task, NULL, 0};
    return is_let_through(g, &part) ? g->plain->createNil(task) : NULL;
}

void guard_attach(struct guard *g, redisReader *reader, guard_expect_fn *expects, void *arg)
{
    *g = (struct guard){.functions = *reader->fn, .plain = reader->fn, .expects = expects, .arg = arg};
    g->functions.createString = make_string;
    g->functions.createArray = make_array;
    g->functions.createInteger = make_integer;
    g->functions.createNil = make_nil;
    reader->fn = &g->functions;
    reader->privdata = g;
}
