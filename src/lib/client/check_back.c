/* SPDX-License-Identifier: MIT
 *
 * The part of a check that looks at what came back to its queue, at the homes where it lies, and at suspects.
 */
#include <stdio.h>
#include <string.h>

#include "client/check.h"
#include "client/page.h"

static int check_homes(struct check *k)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < k->homes.n && !k->stop; i++) {
        struct command command = COMMAND_EMPTY;
        struct script_checked checked;
        char home[TOKEN_LEN + 1];
        const char *name = k->homes.at[i].text;
        size_t len = strcspn(name, ":");
        snprintf(home, sizeof home, "%.*s", (int)len, name);
        script_check_home(&command, &k->client->root, k->repair, home, name + len + 1);
        err = check_run(k, &command, &checked);
    }
    return err;
}

static int check_returned(struct check *k, const char *queue)
{
    struct script_checked checked = {.next = 0};
    int err = MUSTER_OK;
    while (err == MUSTER_OK && checked.next >= 0 && !k->stop) {
        struct command command = COMMAND_EMPTY;
        script_check_returned(&command, &k->client->root, k->repair, queue, checked.next);
        err = check_run(k, &command, &checked);
    }
    return err;
}

/* Tokens `from` to `to` of a page of fields and values. */
static int check_some_suspects(struct check *k, const char *queue, const struct redisReply *page, size_t from,
                               size_t to)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    script_check_suspects(&command, &k->client->root, k->repair, queue);
    for (size_t i = from; i < to; i += 2) {
        struct muster_bytes token = reply_bytes(reply_at(page, i));
        command_bytes(&command, token.data, token.len);
    }
    return check_run(k, &command, &checked);
}

static int check_suspects(struct check *k, const char *queue)
{
    char cursor[PAGE_CURSOR_MAX] = "0", key[KEY_MAX];
    const char *const words[] = {"HSCAN", key, cursor, NULL};
    int err;
    key_of(key, k->client->prefix, KEY_SUSPECTS, queue);
    do {
        struct redisReply *reply;
        err = check_scan(k, words, cursor, &reply);
        const struct redisReply *page = reply_at(reply, 1);
        size_t n = reply_len(page);
        for (size_t i = 0; err == MUSTER_OK && i < n && !k->stop; i += 2 * CHECK_PAGE)
            err = check_some_suspects(k, queue, page, i, i + 2 * CHECK_PAGE < n ? i + 2 * CHECK_PAGE : n);
        redis_reply_free(reply);
    } while (err == MUSTER_OK && !check_is_at_end(k, cursor));
    return err;
}

int check_back(struct check *k)
{
    int err = check_homes(k);
    for (size_t i = 0; err == MUSTER_OK && i < k->back.n && !k->stop; i++)
        err = check_returned(k, k->back.at[i].text);
    for (size_t i = 0; err == MUSTER_OK && i < k->suspects.n && !k->stop; i++)
        err = check_suspects(k, k->suspects.at[i].text);
    return err;
}
