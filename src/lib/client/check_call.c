/* SPDX-License-Identifier: MIT
 *
 * One call of a check: sending its script, telling the finds, and steps of SCAN and its like.
 */
#include <stdio.h>
#include <string.h>

#include "client/check.h"

/* For people: a control character is written as \xNN. */
static void print(char *out, size_t size, struct muster_bytes text)
{
    size_t at = 0;
    const unsigned char *bytes = text.data;
    for (size_t i = 0; i < text.len && at + 5 < size; i++) {
        bool is_control = bytes[i] < 0x20 || bytes[i] == 0x7f;
        at += (size_t)snprintf(out + at, size - at, is_control ? "\\x%02x" : "%c", bytes[i]);
    }
    out[at] = '\0';
}

static void tell(struct check *k, const struct script_find *find)
{
    char key[1024], what[2048];
    print(key, sizeof key, find->key);
    print(what, sizeof what, find->what);
    const struct muster_damage damage = {.key = key, .what = what, .repaired = find->repaired};
    k->stop = k->fn(&damage, k->arg) != 0;
}

int check_run(struct check *k, struct command *command, struct script_checked *out)
{
    struct redisReply *reply = NULL;
    int err = client_step(k->client, k->done, k->total);
    if (err == MUSTER_OK)
        err = client_run(k->client, command, &reply);
    else
        command_clear(command);
    if (err == MUSTER_OK)
        err = client_understand(k->client, script_checked(reply, out));
    for (size_t i = 0; err == MUSTER_OK && i < out->n_finds && !k->stop; i++) {
        struct script_find find;
        err = client_understand(k->client, script_checked_find(reply, i, &find));
        if (err == MUSTER_OK)
            tell(k, &find);
    }
    if (err == MUSTER_OK && out->token > k->highest_token)
        k->highest_token = out->token;
    redis_reply_free(reply);
    return err;
}

int check_each(struct check *k, const struct name_list *names, size_t page, check_name_fn *fn)
{
    int err = MUSTER_OK;
    for (size_t at = 0; err == MUSTER_OK && at < names->n && !k->stop; at += page) {
        err = fn(k, at);
        k->done += names->n - at < page ? names->n - at : page;
    }
    return err;
}

/* Beyond any list. */
#define NEXT_MAX 1000000000
/* So many pages in a row may have lost something to a repair. */
#define SHORT_MAX 10000

static int refuse_page(struct check *k, const char *why)
{
    redis_error_set(k->client->redis, "%s", why);
    return MUSTER_E_REDIS;
}

/* The next page begins a whole page further, or nearer by as many members as were removed: if all were, in the same
 * place. A server that says anything else would hold us for ever. */
int check_run_page(struct check *k, struct command *command, struct script_checked *out)
{
    const int64_t from = out->next;
    int err = check_run(k, command, out);
    if (err != MUSTER_OK || out->next < 0)
        return err;
    bool may_be_short = k->repair == CHECK_AND_REPAIR && out->n_finds > 0;
    bool is_short = out->next < from + CHECK_PAGE;
    if (out->next < from || out->next > from + CHECK_PAGE || out->next > NEXT_MAX || (is_short && !may_be_short))
        return refuse_page(k, "a check goes on at a place that is none: is this another server?");
    k->short_pages = is_short ? k->short_pages + 1 : 0;
    k->done += CHECK_PAGE; /* its members are not known before */
    k->total += CHECK_PAGE;
    if (k->short_pages >= SHORT_MAX)
        return refuse_page(k, "a check has repaired the same list very often: do it again, to see whether it goes on");
    return MUSTER_OK;
}

int check_forgive_wrong_type(const struct check *k, int err)
{
    const char *why = redis_error(k->client->redis); /* Redis' own words, or ours, which name the key */
    return err == MUSTER_E_REDIS && (strstr(why, "WRONGTYPE ") || strstr(why, "has a wrong type")) ? MUSTER_OK : err;
}

int check_scan(struct check *k, const char *const *words, char cursor[PAGE_CURSOR_MAX], struct redisReply **reply)
{
    return check_forgive_wrong_type(k, page_scan(k->client, words, cursor, reply));
}

bool check_is_at_end(const struct check *k, const char *cursor)
{
    return k->stop || strcmp(cursor, "0") == 0;
}

/* Entries `from` to `to` of a page in which each name is followed by a value or a score. */
static int check_some(struct check *k, const char *name, check_begin_fn *begin, const struct redisReply *page,
                      size_t from, size_t to)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    begin(k, &command, name);
    for (size_t i = from; i < to; i += 2) {
        struct muster_bytes entry = reply_bytes(reply_at(page, i));
        command_bytes(&command, entry.data, entry.len);
    }
    return check_run(k, &command, &checked);
}

int check_entries(struct check *k, enum key id, const char *name, check_begin_fn *begin)
{
    char cursor[PAGE_CURSOR_MAX] = "0", key[KEY_MAX];
    const bool is_zset = id == KEY_DEPENDENTS || id == KEY_FOLLOWERS || id == KEY_HOLDS;
    const char *const words[] = {is_zset ? "ZSCAN" : "HSCAN", key, cursor, NULL};
    int err;
    key_of(key, k->client->prefix, id, name);
    do {
        struct redisReply *reply;
        err = check_scan(k, words, cursor, &reply);
        const struct redisReply *page = reply_at(reply, 1);
        size_t n = reply_len(page);
        for (size_t i = 0; err == MUSTER_OK && i < n && !k->stop; i += 2 * CHECK_PAGE)
            err = check_some(k, name, begin, page, i, i + 2 * CHECK_PAGE < n ? i + 2 * CHECK_PAGE : n);
        redis_reply_free(reply);
    } while (err == MUSTER_OK && !check_is_at_end(k, cursor));
    return err;
}
