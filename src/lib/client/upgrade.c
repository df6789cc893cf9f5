/* SPDX-License-Identifier: MIT
 *
 * Moving a namespace that an older release has written to the layout of this one. P:format says so from the first step
 * to the last: so nobody connects who would meet half of it, and an upgrade that was interrupted is known as one. Each
 * step may be repeated: the next call begins again, and passes over what is done.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "client/client.h"
#include "client/page.h"
#include "protocol/script_upgrade.h"

#define SCAN_COUNT "1000"
/* So many keys go in one call. */
#define KEYS_PER_CALL 100
/* So many calls in a row may move some of the jobs that wait for one, 1 000 each, and be done with no key. */
#define CALLS_PER_KEY_MAX 10000

static void name_workers(struct muster_client *c, const struct redisReply *reply)
{
    char names[512] = "";
    size_t len = 0;
    long long n = script_upgrade_workers(reply);
    const char *name;
    for (size_t i = 0; (name = script_upgrade_worker(reply, i)) && len < sizeof names; i++, n--)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i ? ", " : "", name);
    if (n > 0 && len < sizeof names)
        snprintf(names + len, sizeof names - len, " and %lld more", n);
    redis_error_set(c->redis, "workers of the older release are alive: stop them first: %.400s", names);
}

static int begin(struct muster_client *c, enum script_upgrade_work *work)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_upgrade_begin(&command, &c->root);
    int err = client_run(c, &command, &reply);
    *work = UPGRADE_NONE;
    if (err == MUSTER_E_STATE) {
        name_workers(c, reply);
    } else if (err == MUSTER_E_FORMAT) {
        char why[400];
        const char *found = reply_text(reply_at(reply, 1));
        format_refusal(why, sizeof why, c->prefix, found ? found : "?");
        redis_error_set(c->redis, "%s", why);
    } else if (err == MUSTER_E_REDIS && reply_text(reply_at(reply, 1))) {
        char why[400];
        format_refuse_type(why, sizeof why, reply_text(reply_at(reply, 1)));
        redis_error_set(c->redis, "%s", why);
    } else if (err == MUSTER_OK) {
        err = client_understand(c, script_upgrade_begun(reply, work));
    }
    redis_reply_free(reply);
    return err;
}

/* What is there for a script to do? */
static bool is_to_move(const char *key)
{
    static const char *const kinds[] = {"crashes:", "delayed:", "dependents:", "queues:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(key, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

static int move_some(struct muster_client *c, const struct muster_bytes *keys, size_t n, struct script_moved *moved)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_upgrade_keys(&command, &c->root);
    for (size_t i = 0; i < n; i++)
        command_bytes(&command, keys[i].data, keys[i].len);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_upgrade_moved(reply, moved));
    if (err == MUSTER_OK && ((moved->done == 0 && moved->jobs == 0) || moved->done > n))
        err = client_understand(c, MUSTER_E_REDIS); /* it would be asked for ever */
    redis_reply_free(reply);
    return err;
}

static int move_all(struct muster_client *c, const struct muster_bytes *keys, size_t n, uint64_t *changed)
{
    int err = MUSTER_OK, n_calls = 0;
    for (size_t at = 0; err == MUSTER_OK && at < n;) {
        struct script_moved moved = {0};
        err = move_some(c, keys + at, n - at, &moved);
        n_calls = moved.done > 0 ? 0 : n_calls + 1;
        if (err == MUSTER_OK && n_calls > CALLS_PER_KEY_MAX)
            err = client_understand(c, MUSTER_E_REDIS);
        at += moved.done;
        *changed += moved.changed;
    }
    return err;
}

static int move_page(struct muster_client *c, const struct redisReply *page, uint64_t *changed)
{
    struct muster_bytes keys[KEYS_PER_CALL];
    size_t n = 0;
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < reply_len(page); i++) {
        struct muster_bytes key = reply_bytes(reply_at(page, i));
        if (key.len <= c->root.len || !is_to_move((const char *)key.data + c->root.len))
            continue;
        keys[n++] = (struct muster_bytes){(const char *)key.data + c->root.len, key.len - c->root.len};
        if (n < KEYS_PER_CALL)
            continue;
        err = move_all(c, keys, n, changed);
        n = 0;
    }
    return err == MUSTER_OK ? move_all(c, keys, n, changed) : err;
}

/* A prefix has no character that is special in a pattern. */
static int move_keys(struct muster_client *c, uint64_t *changed)
{
    char cursor[PAGE_CURSOR_MAX] = "0", pattern[KEY_MAX + 1];
    unsigned connection;
    uint64_t looked_at = 0;
    int err = page_begin_keys(c, &connection);
    snprintf(pattern, sizeof pattern, "%s*", c->root.text);
    while (err == MUSTER_OK) {
        struct redisReply *reply;
        err = page_scan(c, (const char *const[]){"SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT, NULL}, cursor,
                        &reply);
        if (err == MUSTER_OK)
            err = move_page(c, reply_at(reply, 1), changed);
        looked_at += reply_len(reply_at(reply, 1));
        redis_reply_free(reply);
        if (strcmp(cursor, "0") == 0)
            break;
        if (err == MUSTER_OK)
            err = client_step(c, looked_at, 0);
    }
    return err == MUSTER_OK ? page_end_keys(c, connection) : err;
}

static int end(struct muster_client *c)
{
    char key[KEY_MAX];
    struct redisReply *reply;
    key_of(key, c->prefix, KEY_FORMAT, "");
    int err = client_ask(c, &reply, (const char *const[]){"SET", key, FORMAT_VERSION, NULL});
    redis_reply_free(reply);
    return err;
}

static int move_all_keys(struct muster_client *c, uint64_t *changed)
{
    int err = move_keys(c, changed);
    if (err == MUSTER_E_STATE)
        return MUSTER_OK; /* another caller has done it meanwhile */
    if (err == MUSTER_OK)
        err = end(c);
    *changed += err == MUSTER_OK;
    return err;
}

int muster_client_upgrade(struct muster_client *c, uint64_t *changed)
{
    uint64_t n = 0;
    enum script_upgrade_work work;
    redis_expect_format(c->redis, REDIS_ANY_FORMAT);
    int err = begin(c, &work);
    if (err == MUSTER_OK && work == UPGRADE_MOVE)
        err = move_all_keys(c, &n);
    n += err == MUSTER_OK && work == UPGRADE_DONE;
    redis_expect_format(c->redis, REDIS_OWN_FORMAT);
    if (changed)
        *changed = n;
    return err;
}
