/* SPDX-License-Identifier: MIT
 *
 * Is the master still where we are?
 */
#include "redis/master.h"

#include <stdio.h>
#include <string.h>

/* Sentinels tell each other what they know every two seconds. */
#define DIFFERS_MS 3000

void master_ask(struct command *c, const struct url *url)
{
    command_words(c, (const char *const[]){"SENTINEL", "GET-MASTER-ADDR-BY-NAME", url->master, NULL});
}

bool master_read(struct place *place, const struct redisReply *reply)
{
    const char *host = reply_text(reply_at(reply, 0));
    return host && place_master(place, host, reply_number(reply_at(reply, 1), 0));
}

static bool is_same(const struct place_node *a, const struct place_node *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

enum master_verdict master_judge(struct master *m, const struct place *named, bool is_there, int64_t asked_ms,
                                 int64_t now_ms)
{
    const bool is_news = m->named.port != 0 && m->sentinel == named->seed && !is_same(&m->named, &named->node);
    m->named = named->node;
    m->sentinel = named->seed;
    if (is_there) {
        m->agreed_ms = asked_ms;
        m->differs_ms = 0;
        m->has_doubted = false;
        return MASTER_STAYS;
    }
    if (m->differs_ms == 0)
        m->differs_ms = now_ms;
    if (!is_news && now_ms - m->differs_ms < DIFFERS_MS)
        return MASTER_STAYS;
    if (!is_news && !m->has_doubted) {
        m->has_doubted = true;
        return MASTER_ASKS_ANOTHER;
    }
    m->differs_ms = 0;
    m->has_doubted = false;
    return MASTER_LEAVES;
}

void master_say(const struct master *m, int64_t now_ms, char *out, size_t size)
{
    char since[64] = "";
    if (m->agreed_ms > 0)
        snprintf(since, sizeof since, "; %lld ms ago it still named this one", (long long)(now_ms - m->agreed_ms));
    snprintf(out, size, "the Sentinel names another master now, %s port %d%s", m->named.host, m->named.port, since);
}
