/* SPDX-License-Identifier: MIT
 *
 * Settings that were written by hand and are no numbers, or beyond what is allowed. Scripts pass over the former, and
 * nobody knows what the latter do.
 */
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/check.h"
#include "client/config.h"
#include "protocol/script_queue.h"

static const struct {
    const char *name;
    int64_t least, most;
} settings[] = {
#define SETTING_ROW(name, fallback, least, most, of_queue, what) {#name, least, most},
    MUSTER_SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static bool is_sound(const struct redisReply *value, size_t i)
{
    long long n = reply_number(value, -1);
    return reply_kind(value) == REPLY_NIL ||
           (config_is_number(value) && n >= settings[i].least && n <= settings[i].most);
}

/* Unset it. Another value that was set since the look is lost with it, as when somebody unsets it by hand. */
static int unset(struct check *k, const char *queue, const char *name)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    script_config(&command, &k->client->root, *queue ? queue : NULL, name, NULL);
    int err = client_run(k->client, &command, &reply);
    redis_reply_free(reply);
    return err;
}

static int find(struct check *k, const char *key, const char *queue, size_t i, const char *value)
{
    char *what = NULL;
    int err = k->repair == CHECK_AND_REPAIR ? unset(k, queue, settings[i].name) : MUSTER_OK;
    bool is_repaired = k->repair == CHECK_AND_REPAIR && err == MUSTER_OK;
    if (err != MUSTER_OK)
        return check_forgive_wrong_type(k, err);
    if (asprintf(&what, "has '%.40s' for %s, which is no number from %lld to %lld%s", value, settings[i].name,
                 (long long)settings[i].least, (long long)settings[i].most, is_repaired ? ": unset it" : "") < 0)
        return MUSTER_E_NOMEM;
    k->stop = k->fn(&(struct muster_damage){key, what, is_repaired}, k->arg) != 0;
    free(what);
    return MUSTER_OK;
}

/* `queue` "": the namespace. */
static int check_settings_of(struct check *k, const char *queue)
{
    const char *words[N_SETTINGS + 3] = {"HMGET"};
    char key[KEY_MAX];
    struct redisReply *values;
    words[1] = key;
    key_of(key, k->client->prefix, *queue ? KEY_QUEUE : KEY_CONFIG, queue);
    for (size_t i = 0; i < N_SETTINGS; i++)
        words[i + 2] = settings[i].name;
    int err = check_forgive_wrong_type(k, client_ask(k->client, &values, words));
    for (size_t i = 0; i < N_SETTINGS && i < reply_len(values) && err == MUSTER_OK && !k->stop; i++)
        if (!is_sound(reply_at(values, i), i))
            err = find(k, key, queue, i, reply_text(reply_at(values, i)) ? reply_text(reply_at(values, i)) : "");
    redis_reply_free(values);
    return err;
}

int check_settings(struct check *k)
{
    int err = check_settings_of(k, "");
    for (size_t i = 0; i < k->queues.n && err == MUSTER_OK && !k->stop; i++)
        err = check_settings_of(k, k->queues.at[i].text);
    return err;
}
