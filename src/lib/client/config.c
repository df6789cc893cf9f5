/* SPDX-License-Identifier: MIT
 *
 * Settings: reading and setting those of a queue or of the namespace. The scripts read them where they need them: the
 * queue's own value comes first, then the namespace's, then the default. The public job.h has the one list.
 */
#include <muster/job.h>
#include <string.h>

#include "client/client.h"
#include "client/config.h"
#include "client/page.h"
#include "protocol/script_queue.h"

struct setting {
    const char *name;
    const char *what;
    int64_t fallback;
    int64_t least;
    int64_t most;
    bool of_queue_only;
};

static const struct setting settings[] = {
#define SETTING_ROW(name, fallback, least, most, of_queue, what) {#name, what, fallback, least, most, of_queue},
    MUSTER_SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};
#define SETTINGS (sizeof settings / sizeof *settings)
/* A Lua number holds this many digits exactly. */
#define DIGITS_MAX 15

#define SETTING_FITS(name, fallback, least, most, of_queue, what) \
    _Static_assert(sizeof #most - 1 <= DIGITS_MAX, "each value of " #name " that is allowed counts");
MUSTER_SETTINGS(SETTING_FITS)
#undef SETTING_FITS

static int find_setting(struct muster_client *c, const char *queue, const char *name, const struct setting **out)
{
    *out = NULL;
    for (size_t i = 0; name && i < SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0)
            *out = &settings[i];
    if (!*out) {
        redis_error_set(c->redis, "there is no setting '%.100s'", name ? name : "");
        return MUSTER_E_NOT_FOUND;
    }
    if (!queue && (*out)->of_queue_only) {
        redis_error_set(c->redis, "%s is a setting of a queue: name a queue", name);
        return MUSTER_E_INVALID;
    }
    return MUSTER_OK;
}

static int append_settings(struct muster_client *c, enum key key, const char *name)
{
    const char *words[SETTINGS + 3] = {"HMGET"};
    char text[KEY_MAX];
    key_of(text, c->prefix, key, name);
    words[1] = text;
    for (size_t i = 0; i < SETTINGS; i++)
        words[i + 2] = settings[i].name;
    return client_append(c, words);
}

bool config_is_number(const struct redisReply *value)
{
    const char *text = reply_text(value);
    size_t len = text ? strlen(text) : 0;
    return len > 0 && len <= DIGITS_MAX && strspn(text, "0123456789") == len;
}

/* A value that is not a number does not count; the scripts do the same. */
static struct muster_setting value_of(const struct setting *setting, const struct redisReply *own,
                                      const struct redisReply *of_namespace)
{
    struct muster_setting row = {.name = setting->name,
                                 .what = setting->what,
                                 .from = "default",
                                 .value = setting->fallback,
                                 .fallback = setting->fallback,
                                 .least = setting->least,
                                 .most = setting->most};
    if (config_is_number(own)) {
        row.from = "queue";
        row.value = reply_number(own, 0);
    } else if (config_is_number(of_namespace) && !setting->of_queue_only) {
        row.from = "namespace";
        row.value = reply_number(of_namespace, 0);
    }
    return row;
}

/* `only` NULL: all of them. */
static void give_settings(const char *queue, const struct setting *only, struct redisReply *const parts[2],
                          muster_setting_fn *fn, void *arg)
{
    bool stop = false;
    for (size_t i = 0; i < SETTINGS && !stop; i++) {
        const struct muster_setting row = value_of(&settings[i], reply_at(parts[1], i), reply_at(parts[0], i));
        if (only ? only == &settings[i] : queue || !settings[i].of_queue_only)
            stop = fn(&row, arg) != 0;
    }
}

int muster_config_get(struct muster_client *c, const char *queue, const char *name, muster_setting_fn *fn, void *arg)
{
    const struct setting *only = NULL;
    struct redisReply *parts[2] = {NULL, NULL};
    int err = queue ? client_check_queue(c, queue) : MUSTER_OK;
    if (err == MUSTER_OK && name)
        err = find_setting(c, queue, name, &only);
    if (err == MUSTER_OK)
        err = append_settings(c, KEY_CONFIG, "");
    if (err == MUSTER_OK && queue)
        err = append_settings(c, KEY_QUEUE, queue);
    if (err == MUSTER_OK)
        err = page_read_alone(c, queue ? queue : "", parts, queue ? 2 : 1);
    if (err == MUSTER_OK)
        give_settings(queue, only, parts, fn, arg);
    redis_reply_free(parts[0]);
    redis_reply_free(parts[1]);
    return err;
}

int muster_config_set(struct muster_client *c, const char *queue, const char *name, const int64_t *value)
{
    const struct setting *setting;
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    int err = queue ? client_check_queue(c, queue) : MUSTER_OK;
    if (err == MUSTER_OK)
        err = find_setting(c, queue, name, &setting);
    if (err == MUSTER_OK && value && (*value < setting->least || *value > setting->most)) {
        redis_error_set(c->redis, "%s must be %lld to %lld, not %lld", name, (long long)setting->least,
                        (long long)setting->most, (long long)*value);
        return MUSTER_E_INVALID;
    }
    if (err == MUSTER_OK)
        err = redis_claim_format(c->redis);
    if (err != MUSTER_OK)
        return err;
    script_config(&command, &c->root, queue, name, value);
    err = client_run(c, &command, &reply);
    redis_reply_free(reply);
    return err;
}
