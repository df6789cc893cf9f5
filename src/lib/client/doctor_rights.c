/* SPDX-License-Identifier: MIT
 *
 * Rights, tried one by one: each row is a command that changes nothing, on a key that is not there. To ask the server
 * for them (ACL GETUSER) would need a right of its own.
 *
 * The rights are those of examples/users.acl. A user with fewer commands of a group than the group may have all that
 * muster needs: then the row passes, because its command is one of those.
 */
#include <stdio.h>
#include <string.h>

#include "client/doctor.h"

#define KEY "\001"     /* stands for a key of the namespace */
#define CHANNEL "\002" /* stands for a channel of the namespace */
#define WAKE "\003"    /* the same, of a worker */
#define NO_SCRIPT "0000000000000000000000000000000000000000"

/* Who needs a right. */
enum {
    PRODUCER = 1u << MUSTER_ROLE_PRODUCER,
    WORKER = 1u << MUSTER_ROLE_WORKER,
    VIEWER = 1u << MUSTER_ROLE_VIEWER,
    OPERATOR = 1u << MUSTER_ROLE_OPERATOR,
    WRITERS = PRODUCER | WORKER | OPERATOR | 1u << MUSTER_ROLE_ALL,
    RUNNERS = WORKER | OPERATOR | 1u << MUSTER_ROLE_ALL,
};

static const struct {
    const char *right;
    unsigned roles;
    const char *words[6];
} rights[] = {
    {"+@hash", WRITERS, {"HDEL", KEY, "field", NULL}},
    {"+@hash", VIEWER, {"HGET", KEY, "field", NULL}},
    {"+@list", WRITERS, {"LREM", KEY, "0", "nothing", NULL}},
    {"+@list", VIEWER, {"LLEN", KEY, NULL}},
    {"+@set", WRITERS, {"SREM", KEY, "nothing", NULL}},
    {"+@set", VIEWER, {"SCARD", KEY, NULL}},
    {"+@sortedset", WRITERS, {"ZREM", KEY, "nothing", NULL}},
    {"+@sortedset", VIEWER, {"ZCARD", KEY, NULL}},
    {"+@string", WRITERS, {"GETDEL", KEY, NULL}},
    {"+eval", WRITERS, {"EVAL", "return 1", "1", KEY, NULL}},
    {"+evalsha", WRITERS, {"EVALSHA", NO_SCRIPT, "1", KEY, NULL}},
    {"+exists", WRITERS | VIEWER, {"EXISTS", KEY, NULL}},
    {"+del", WRITERS, {"DEL", KEY, NULL}},
    {"+unlink", OPERATOR | 1u << MUSTER_ROLE_ALL, {"UNLINK", KEY, NULL}},
    {"+rename", WRITERS, {"RENAME", KEY, KEY, NULL}},
    {"+type", RUNNERS, {"TYPE", KEY, NULL}},
    {"+persist", WRITERS, {"PERSIST", KEY, NULL}},
    {"+pexpire", WRITERS, {"PEXPIRE", KEY, "1000", NULL}},
    {"+pttl", WRITERS | VIEWER, {"PTTL", KEY, NULL}},
    {"+time", WRITERS | VIEWER, {"TIME", NULL}},
    {"+scan", OPERATOR | 1u << MUSTER_ROLE_ALL, {"SCAN", "0", "COUNT", "1", NULL}},
    {"+publish", WRITERS, {"PUBLISH", CHANNEL, "", NULL}},
    {"+spublish", WRITERS, {"SPUBLISH", WAKE, "", NULL}},
    {"+ping", RUNNERS, {"PING", NULL}},
};

static const char *word_of(struct doctor *d, const char *word, char room[KEY_MAX])
{
    const char *prefix = d->client->prefix;
    if (strcmp(word, KEY) == 0)
        snprintf(room, KEY_MAX, "%s:take:doctor", prefix);
    else if (strcmp(word, CHANNEL) == 0)
        snprintf(room, KEY_MAX, "%s:events:doctor", prefix);
    else if (strcmp(word, WAKE) == 0)
        snprintf(room, KEY_MAX, "%s:wake:.doctor", prefix);
    else
        return word;
    return room;
}

/* Redis tells whether it is the command, the key or the channel; the rule names the namespace's. */
void doctor_say_missing(struct doctor *d, const char *right, const char *why)
{
    char advice[3 * MUSTER_PREFIX_MAX + 80];
    const char *prefix = d->client->prefix;
    const enum reply_right missing = reply_missing_right(why);
    const bool is_key = missing == REPLY_KEY, is_channel = missing == REPLY_CHANNEL;
    if ((is_key && d->has_said_keys) || (is_channel && d->has_said_channels))
        return;
    d->has_said_keys |= is_key;
    d->has_said_channels |= is_channel;
    if (is_key)
        snprintf(advice, sizeof advice, "ACL SETUSER USER %s~%s:*", d->role == MUSTER_ROLE_VIEWER ? "%R" : "", prefix);
    else if (is_channel)
        snprintf(advice, sizeof advice, "ACL SETUSER USER &%s:* &%s_* &%s@*", prefix, prefix, prefix);
    else
        snprintf(advice, sizeof advice, "ACL SETUSER USER %s", right);
    doctor_say(d, MUSTER_ADVICE_MEND, "rights", advice, "a right is missing: %s", why);
}

/* The roles whose rule in examples/users.acl has it. */
static bool has_rule(enum muster_role role, const char *rule)
{
    bool is_all = role == MUSTER_ROLE_ALL || role == MUSTER_ROLE_OPERATOR;
    return is_all || (role == MUSTER_ROLE_WORKER && strcmp(rule, "+info") == 0);
}

void doctor_say_unseen(struct doctor *d, const char *subject, const char *rule, const char *what)
{
    char advice[80];
    const char *why = redis_error(d->client->redis);
    snprintf(advice, sizeof advice, "ACL SETUSER USER %s", rule);
    if (has_rule(d->role, rule))
        doctor_say(d, MUSTER_ADVICE_UNKNOWN, subject, advice, "%s cannot be seen: %s", what, why);
    else
        doctor_say(d, MUSTER_ADVICE_UNKNOWN, subject, "ask as an operator",
                   "%s: this role has no right to see them, and needs none", what);
}

static int try_right(struct doctor *d, size_t row, bool *is_missing)
{
    char rooms[6][KEY_MAX];
    const char *words[7] = {NULL};
    struct redisReply *reply = NULL;
    for (size_t i = 0; i < 6 && rights[row].words[i]; i++)
        words[i] = word_of(d, rights[row].words[i], rooms[i]);
    int err = client_ask(d->client, &reply, words);
    redis_reply_free(reply);
    *is_missing = err == MUSTER_E_DENIED;
    if (*is_missing)
        doctor_say_missing(d, rights[row].right, redis_error(d->client->redis));
    return doctor_is_over(err) ? err : MUSTER_OK;
}

static const char *const role_texts[] = {
    [MUSTER_ROLE_ALL] = "muster asks for",       [MUSTER_ROLE_PRODUCER] = "a producer does",
    [MUSTER_ROLE_WORKER] = "a worker does",      [MUSTER_ROLE_VIEWER] = "a viewer does",
    [MUSTER_ROLE_OPERATOR] = "an operator does",
};

int doctor_look_at_rights(struct doctor *d)
{
    int err = MUSTER_OK;
    bool is_missing, any = false;
    for (size_t i = 0; i < sizeof rights / sizeof *rights && err == MUSTER_OK && !d->stop; i++) {
        if (!(rights[i].roles & 1u << d->role))
            continue;
        err = try_right(d, i, &is_missing);
        any |= err == MUSTER_OK && is_missing;
    }
    if (err == MUSTER_OK && !any)
        doctor_say(d, MUSTER_ADVICE_GOOD, "rights", "", "this user may do all that %s", role_texts[d->role]);
    return err;
}
