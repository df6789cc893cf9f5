/* SPDX-License-Identifier: MIT
 *
 * Looking through a namespace for damage. SCAN lists its keys; of what kind each is, is decided here, by the one list
 * of keys. What is damage, and how it is put right, the scripts decide, one call for each set, worker and queue: only
 * within one script is what is seen together true together. So nothing here compares what two calls have answered, and
 * a live system, which every script leaves without damage, gives no finds.
 *
 * One find may make others look wrong: a set that is nobody's is counted by nobody. Without repair the counters that
 * such a find reaches into are left out ("doubtful"); with it they are put right in the same script.
 */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "sorted.h"

/* A step of SCAN, and how many keys or tokens go in one script. */
#define SCAN_COUNT "500"
#define PAGE 100
#define CURSOR_MAX 24
/* The reserved id of those who hold tasks by a lease. */
#define LEASE MUSTER_LEASE_ID
/* Requests and crash counts are kept for so long. */
#define HOUR_MS 3600000

/* ---- a check ---- */

struct check {
    struct muster_client *client;
    int repair, stop;
    muster_damage_fn *fn;
    void *arg;
    /* Keys by what follows the root; sets as "<worker>:<queue>"; those with marks or notes. */
    struct names keys, workers, queues, sets, marked;
    uint64_t highest_token;
};

/* For people: control characters are written as \xNN. */
static void print(char *out, size_t size, struct muster_bytes text)
{
    size_t at = 0;
    const unsigned char *bytes = text.data;
    for (size_t i = 0; i < text.len && at + 5 < size; i++) {
        int is_control = bytes[i] < 0x20 || bytes[i] == 0x7f;
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

/* Sends one of the scripts, tells what it found, and clears its command. */
static int look(struct check *k, enum script_id id, struct command *command, struct script_checked *out)
{
    struct redisReply *reply;
    int err = client_run(k->client, id, command, &reply);
    if (err == MUSTER_OK)
        err = script_checked(reply, out);
    for (size_t i = 0; err == MUSTER_OK && i < out->n_finds && !k->stop; i++) {
        struct script_find find;
        err = script_checked_find(reply, i, &find);
        if (err == MUSTER_OK)
            tell(k, &find);
    }
    if (err == MUSTER_OK && out->token > k->highest_token)
        k->highest_token = out->token;
    redis_reply_free(reply);
    return err;
}

/* A key of the wrong type is a find of its own, and lists nothing. */
static int or_wrong_type(const struct check *k, int err)
{
    return err == MUSTER_E_REDIS && strstr(redis_error(k->client->redis), "WRONGTYPE ") ? MUSTER_OK : err;
}

/* One step of SCAN or HSCAN: `words` hold the cursor, which is moved on. */
static int scan_step(struct check *k, const char *const *words, char cursor[CURSOR_MAX], struct redisReply **reply)
{
    int err = client_ask(k->client, reply, words);
    const char *next = reply_text(reply_at(*reply, 0));
    snprintf(cursor, CURSOR_MAX, "%s", next ? next : "0");
    return or_wrong_type(k, err);
}

static int is_at_end(const struct check *k, const char *cursor)
{
    return k->stop || strcmp(cursor, "0") == 0;
}

/* ---- keys ---- */

/* Of what a key's last part is the name. */
enum owner { OF_NAMESPACE, OF_WORKER, OF_MARKED, OF_QUEUE, OF_SET, OF_REQUEST };

static const char *const key_names[KEY_COUNT] = {
#define KEY_NAME(key, text) [key] = (text),
    KEYS(KEY_NAME)
#undef KEY_NAME
};

static const struct kind {
    const char *type;
    enum owner owner;
    int64_t ttl_ms; /* 0: it may stay; else it has a time to live, and gets this one if not */
} kinds[KEY_COUNT] = {
    [KEY_ALIVE] = {"string", OF_WORKER, 0}, /* its worker's ttl: check_worker */
    [KEY_BEAT] = {"hash", OF_NAMESPACE, 0},
    [KEY_CRASHES] = {"hash", OF_QUEUE, HOUR_MS},
    [KEY_DELAYED] = {"zset", OF_QUEUE, 0},
    [KEY_FAILED] = {"zset", OF_QUEUE, 0},
    [KEY_FAILURES] = {"hash", OF_QUEUE, 0},
    [KEY_FORMAT] = {"string", OF_NAMESPACE, 0},
    [KEY_IDLE] = {"zset", OF_QUEUE, 0},
    [KEY_LEASES] = {"zset", OF_QUEUE, 0},
    [KEY_MARKS] = {"hash", OF_MARKED, 0},
    [KEY_NAMES] = {"zset", OF_NAMESPACE, 0},
    [KEY_NOTES] = {"hash", OF_MARKED, 0},
    [KEY_PROCESSING] = {"hash", OF_SET, 0},
    [KEY_QUEUE] = {"hash", OF_QUEUE, 0},
    [KEY_QUEUES] = {"list", OF_QUEUE, 0},
    [KEY_REGISTRY] = {"zset", OF_NAMESPACE, 0},
    [KEY_REQUEST] = {"hash", OF_REQUEST, HOUR_MS},
    [KEY_TOKEN] = {"string", OF_NAMESPACE, 0},
    [KEY_TTLS] = {"zset", OF_NAMESPACE, 0},
    [KEY_WAKE] = {"", OF_WORKER, 0}, /* a channel, no key */
    [KEY_WORKER] = {"hash", OF_WORKER, 0},
};

/* The kind of which a key seems to be by its name, and in *rest the name at its end; NULL: of none. */
static const struct kind *kind_of(const char *key, const char **rest)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t len = strlen(key_names[i]);
        int has_name = key_names[i][len - 1] == ':';
        *rest = key + len;
        if (has_name ? strncmp(key, key_names[i], len) == 0 : strcmp(key, key_names[i]) == 0)
            return &kinds[i];
    }
    return NULL;
}

static int is_holder(const char *id)
{
    return strcmp(id, LEASE) == 0 || !muster_worker_id_check(id);
}

static int add_holder(struct check *k, const char *id)
{
    return strcmp(id, LEASE) == 0 ? MUSTER_OK : names_add(&k->workers, id, strlen(id));
}

/* "<worker>:<queue>" */
static int add_set(struct check *k, const char *name, int *is_known)
{
    char worker[MUSTER_WORKER_ID_MAX + 1];
    size_t len = strcspn(name, ":");
    snprintf(worker, sizeof worker, "%.*s", (int)len, name);
    *is_known = len < sizeof worker && name[len] == ':' && is_holder(worker) && !muster_queue_check(name + len + 1);
    if (!*is_known)
        return MUSTER_OK;
    int err = names_add(&k->sets, name, strlen(name));
    if (err == MUSTER_OK)
        err = add_holder(k, worker);
    return err == MUSTER_OK ? names_add(&k->queues, name + len + 1, strlen(name + len + 1)) : err;
}

/* Notes whom or what a key names. *is_known: such a name can be. */
static int add_owner(struct check *k, enum owner owner, const char *name, int *is_known)
{
    *is_known = 1;
    switch (owner) {
    case OF_NAMESPACE:
        return MUSTER_OK;
    case OF_WORKER:
        *is_known = !muster_worker_id_check(name);
        return *is_known ? add_holder(k, name) : MUSTER_OK;
    case OF_MARKED:
        *is_known = is_holder(name);
        return *is_known ? names_add(&k->marked, name, strlen(name)) : MUSTER_OK;
    case OF_QUEUE:
        *is_known = !muster_queue_check(name);
        return *is_known ? names_add(&k->queues, name, strlen(name)) : MUSTER_OK;
    case OF_REQUEST:
        *is_known = !muster_queue_check(name);
        return MUSTER_OK;
    case OF_SET:
        break;
    }
    return add_set(k, name, is_known);
}

static int add_key(struct check *k, struct muster_bytes key)
{
    size_t root = k->client->root.len;
    if (key.len <= root || memcmp(key.data, k->client->root.text, root) != 0)
        return MUSTER_OK; /* the root alone is no key of the namespace */
    return names_add(&k->keys, (const char *)key.data + root, key.len - root);
}

/* A prefix holds nothing that means something in a pattern. */
static int list_keys(struct check *k)
{
    char cursor[CURSOR_MAX] = "0", pattern[KEY_MAX + 1];
    const char *const words[] = {"SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT, NULL};
    int err;
    snprintf(pattern, sizeof pattern, "%s*", k->client->root.text);
    do {
        struct redisReply *reply;
        err = scan_step(k, words, cursor, &reply);
        const struct redisReply *page = reply_at(reply, 1);
        for (size_t i = 0; err == MUSTER_OK && i < reply_len(page); i++)
            err = add_key(k, reply_bytes(reply_at(page, i)));
        redis_reply_free(reply);
    } while (err == MUSTER_OK && !is_at_end(k, cursor));
    names_sort(&k->keys); /* SCAN may bring a key twice */
    return err;
}

/* Adds a key to the command with what it should be. */
static int add_expected(struct check *k, struct command *command, const struct name *key)
{
    const char *rest;
    int is_known = 0;
    const struct kind *kind = strlen(key->text) == key->len ? kind_of(key->text, &rest) : NULL;
    int err = kind && *kind->type ? add_owner(k, kind->owner, rest, &is_known) : MUSTER_OK;
    script_check_key(command, (struct muster_bytes){key->text, key->len}, is_known ? kind->type : "",
                     is_known ? kind->ttl_ms : 0);
    return err;
}

static int check_keys(struct check *k)
{
    int err = list_keys(k);
    for (size_t i = 0; err == MUSTER_OK && i < k->keys.n && !k->stop;) {
        struct command command = COMMAND_EMPTY;
        struct script_checked checked;
        script_check_keys(&command, &k->client->root, k->repair);
        for (size_t end = i + PAGE; err == MUSTER_OK && i < k->keys.n && i < end; i++)
            err = add_expected(k, &command, &k->keys.at[i]);
        if (err == MUSTER_OK)
            err = look(k, SCRIPT_CHECK_KEYS, &command, &checked);
        else
            command_clear(&command);
    }
    return err;
}

/* ---- who is only a member somewhere ---- */

static int add_member(struct muster_client *c, const char *member, void *arg, int *stop)
{
    (void)c, (void)stop;
    return names_add(arg, member, strlen(member));
}

static int add_queue_member(struct muster_client *c, const char *member, void *arg, int *stop)
{
    return muster_queue_check(member) ? MUSTER_OK : add_member(c, member, arg, stop);
}

static int add_members(struct check *k)
{
    static const struct {
        enum key zset;
        client_member_fn *fn;
    } lists[] = {{KEY_REGISTRY, add_member}, {KEY_TTLS, add_member}, {KEY_NAMES, add_queue_member}};
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < sizeof lists / sizeof *lists; i++) {
        struct names *names = lists[i].zset == KEY_NAMES ? &k->queues : &k->workers;
        err = or_wrong_type(k, client_each_member(k->client, lists[i].zset, lists[i].fn, names));
    }
    names_sort(&k->workers);
    names_sort(&k->queues);
    names_sort(&k->sets);
    names_sort(&k->marked);
    return err;
}

/* ---- sets and workers ---- */

static void names_doubt(struct names *names, char *text)
{
    size_t i = names_from(names, text, strlen(text));
    if (i < names->n && strcmp(names->at[i].text, text) == 0)
        names->at[i].is_doubtful = 1;
}

/* The queue of a set, "<worker>:<queue>". */
static char *queue_of(const struct name *set)
{
    return set->text + strcspn(set->text, ":") + 1;
}

static int check_sets(struct check *k)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < k->sets.n && !k->stop; i++) {
        struct command command = COMMAND_EMPTY;
        struct script_checked checked;
        char worker[MUSTER_WORKER_ID_MAX + 1], *queue = queue_of(&k->sets.at[i]);
        snprintf(worker, sizeof worker, "%.*s", (int)(queue - 1 - k->sets.at[i].text), k->sets.at[i].text);
        script_check_set(&command, &k->client->root, k->repair, worker, queue);
        err = look(k, SCRIPT_CHECK_SET, &command, &checked);
        if (err == MUSTER_OK && checked.n_finds > 0) {
            names_doubt(&k->workers, worker);
            names_doubt(&k->queues, queue);
        }
    }
    return err;
}

/* The sets of one holder are at [*from, the result). */
static size_t sets_of(const struct check *k, const char *holder, size_t *from)
{
    char head[MUSTER_WORKER_ID_MAX + 2];
    int len = snprintf(head, sizeof head, "%s:", holder);
    size_t i = *from = len < (int)sizeof head ? names_from(&k->sets, head, (size_t)len) : k->sets.n;
    while (i < k->sets.n && strncmp(k->sets.at[i].text, head, (size_t)len) == 0)
        i++;
    return i;
}

static int check_workers(struct check *k)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < k->workers.n && !k->stop; i++) {
        const struct name *worker = &k->workers.at[i];
        struct command command = COMMAND_EMPTY;
        struct script_checked checked;
        size_t set;
        script_check_worker(&command, &k->client->root, k->repair, worker->text, k->repair || !worker->is_doubtful);
        err = look(k, SCRIPT_CHECK_WORKER, &command, &checked);
        if (err != MUSTER_OK || checked.token > 0)
            continue;
        /* Who is not registered is not counted. */
        for (size_t end = sets_of(k, worker->text, &set); set < end; set++)
            names_doubt(&k->queues, queue_of(&k->sets.at[set]));
    }
    return err;
}

/* ---- marks and notes ---- */

/* Tokens `from` to `to` of a page of fields and values. */
static int check_tokens(struct check *k, const char *holder, const struct redisReply *page, size_t from, size_t to)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    size_t set, end = sets_of(k, holder, &set);
    script_check_marks(&command, &k->client->root, k->repair, holder, end - set);
    for (; set < end; set++)
        command_text(&command, queue_of(&k->sets.at[set]));
    for (size_t i = from; i < to; i += 2) {
        struct muster_bytes token = reply_bytes(reply_at(page, i));
        command_bytes(&command, token.data, token.len);
    }
    return look(k, SCRIPT_CHECK_MARKS, &command, &checked);
}

static int check_marks_of(struct check *k, const char *holder, enum key hash)
{
    char cursor[CURSOR_MAX] = "0", key[KEY_MAX];
    const char *const words[] = {"HSCAN", key, cursor, NULL};
    int err;
    key_of(key, k->client->prefix, hash, holder);
    do {
        struct redisReply *reply;
        err = scan_step(k, words, cursor, &reply);
        const struct redisReply *page = reply_at(reply, 1);
        size_t n = reply_len(page);
        for (size_t i = 0; err == MUSTER_OK && i < n && !k->stop; i += 2 * PAGE)
            err = check_tokens(k, holder, page, i, i + 2 * PAGE < n ? i + 2 * PAGE : n);
        redis_reply_free(reply);
    } while (err == MUSTER_OK && !is_at_end(k, cursor));
    return err;
}

static int check_marks(struct check *k)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < k->marked.n && !k->stop; i++) {
        err = check_marks_of(k, k->marked.at[i].text, KEY_MARKS);
        if (err == MUSTER_OK && !k->stop)
            err = check_marks_of(k, k->marked.at[i].text, KEY_NOTES);
    }
    return err;
}

/* ---- tokens and queues ---- */

static int check_token(struct check *k)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    script_check_token(&command, &k->client->root, k->repair, k->highest_token);
    return look(k, SCRIPT_CHECK_TOKEN, &command, &checked);
}

/* check_idle and check_leases, which go on from page to page. */
static int check_pages(struct check *k, enum script_id id, const char *queue)
{
    struct script_checked checked = {.next = 0};
    int err = MUSTER_OK, found = 0;
    while (err == MUSTER_OK && checked.next >= 0 && !k->stop) {
        struct command command = COMMAND_EMPTY;
        script_check_page(&command, id, &k->client->root, k->repair, queue, checked.next);
        if (id == SCRIPT_CHECK_LEASES)
            command_text(&command, found ? "1" : "0");
        err = look(k, id, &command, &checked);
        found |= err == MUSTER_OK && checked.n_finds > 0;
    }
    return err;
}

static int check_queues(struct check *k)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < k->queues.n && !k->stop; i++) {
        const struct name *queue = &k->queues.at[i];
        struct command command = COMMAND_EMPTY;
        struct script_checked checked;
        err = check_pages(k, SCRIPT_CHECK_LEASES, queue->text);
        if (err == MUSTER_OK && !k->stop)
            err = check_pages(k, SCRIPT_CHECK_IDLE, queue->text);
        if (err != MUSTER_OK || k->stop)
            break;
        script_check_queue(&command, &k->client->root, k->repair, queue->text, k->repair || !queue->is_doubtful);
        err = look(k, SCRIPT_CHECK_QUEUE, &command, &checked);
    }
    return err;
}

/* Sets come before workers, whose counts they change, and workers before queues. */
static int (*const steps[])(struct check *k) = {check_keys,    add_members, check_sets,  check_marks,
                                                check_workers, check_token, check_queues};

int muster_client_check(struct muster_client *c, int repair, muster_damage_fn *fn, void *arg)
{
    struct check k = {.client = c, .repair = repair != 0, .fn = fn, .arg = arg};
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < sizeof steps / sizeof *steps && !k.stop; i++)
        err = steps[i](&k);
    struct names *const lists[] = {&k.keys, &k.workers, &k.queues, &k.sets, &k.marked};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        names_clear(lists[i]);
    return err;
}
