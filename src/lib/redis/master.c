/* SPDX-License-Identifier: MIT
 *
 * Is the master still where we are?
 */
#include "redis/master.h"

#include <stdio.h>
#include <string.h>

/* Sentinels tell each other what they know every two seconds. */
#define DIFFERS_MS 3000
/* So long one that was replaced may go on as a master. */
#define LEFT_MS 10000

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

/* Was it named until just now, and is not any more? */
static bool is_left(const struct master *m, const struct place_node *node, int64_t now_ms)
{
    return m->left_ms > 0 && now_ms - m->left_ms < LEFT_MS && is_same(&m->left, node);
}

enum master_verdict master_judge(struct master *m, const struct place_node *named, bool is_there, int64_t asked_ms,
                                 int64_t now_ms)
{
    const struct place_node before = m->named;
    const bool is_news = before.port != 0 && !is_same(&before, named) && !is_left(m, named, now_ms);
    m->named = *named;
    if (is_news) {
        m->left = before;
        m->left_ms = now_ms;
    }
    if (is_there) {
        m->agreed_ms = asked_ms;
        m->differs_ms = 0;
        return MASTER_STAYS;
    }
    if (m->differs_ms == 0)
        m->differs_ms = now_ms;
    if (!is_news && now_ms - m->differs_ms < DIFFERS_MS)
        return MASTER_STAYS;
    m->differs_ms = 0;
    return is_news ? MASTER_LEAVES : MASTER_LEAVES_DOUBTED;
}

void master_say(const struct master *m, int64_t now_ms, char *out, size_t size)
{
    char since[64] = "";
    if (m->agreed_ms > 0)
        snprintf(since, sizeof since, "; %lld ms ago it still named this one", (long long)(now_ms - m->agreed_ms));
    snprintf(out, size, "the Sentinel names another master now, %s port %d%s", m->named.host, m->named.port, since);
}
