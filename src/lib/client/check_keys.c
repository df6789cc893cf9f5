/* SPDX-License-Identifier: MIT
 *
 * The keys of a namespace. SCAN lists them, and the one list of keys decides the kind of each. Each key names something
 * that the other steps of the check look at.
 */
#include <stdio.h>
#include <string.h>

#include "client/check.h"
#include "client/page.h"

/* How many keys one step of SCAN looks at. */
#define SCAN_COUNT "500"
/* How long keys of a kind are kept. */
#define HOUR_MS 3600000 /* requests, calls of take */
#define STATS_MS (INT64_C(31) * 24 * HOUR_MS)
#define TIMER_MS 10000
#define LISTEN_MS 10000

/* What the last part of a key names. */
enum owner {
    OF_NAMESPACE,
    OF_WORKER,
    OF_MARKED,
    OF_QUEUE,
    OF_SET,
    OF_HOME,
    OF_BACK,
    OF_LEASED,
    OF_HOLDER,
    OF_SUSPECTS,
    OF_REQUEST,
    OF_JOB,
    OF_AWAITED,
    OF_ENDED,
    OF_INDEX,
    OF_TAG,
    OF_TRACKED,
    OF_STATS,
    OF_BATCH
};

/* What cannot be looked at while a key has a wrong type; "": nothing else. */
static const char *const unseen[] = {
    [OF_NAMESPACE] = "what it holds for the whole namespace",
    [OF_WORKER] = "what of its worker depends on it",
    [OF_MARKED] = "the marks and notes of its holder",
    [OF_QUEUE] = "what of its queue depends on it",
    [OF_SET] = "what its holder has in work, and the counts of that",
    [OF_HOME] = "what came back there, and the counts of that",
    [OF_BACK] = "what came back to its queue",
    [OF_LEASED] = "who holds the leases of its queue",
    [OF_HOLDER] = "the leases under this name",
    [OF_SUSPECTS] = "the suspects of its queue",
    [OF_REQUEST] = "",
    [OF_JOB] = "its job",
    [OF_AWAITED] = "who waits for its job",
    [OF_ENDED] = "who is still to be let go there",
    [OF_INDEX] = "the jobs that it lists",
    [OF_TAG] = "the jobs that it lists",
    [OF_TRACKED] = "the jobs that it lists",
    [OF_STATS] = "",
    [OF_BATCH] = "its batch",
};
_Static_assert(sizeof unseen / sizeof *unseen == OF_BATCH + 1, "each owner says what depends on its keys");

static const char *const key_names[KEY_COUNT] = {
#define KEY_NAME(key, text) [key] = (text),
    KEYS(KEY_NAME)
#undef KEY_NAME
};

static const struct kind {
    const char *type;
    enum owner owner;
    int64_t ttl_ms; /* 0: it may stay. Otherwise it has a time to live, and gets this one if it has none */
} kinds[KEY_COUNT] = {
    [KEY_ALIVE] = {"string", OF_WORKER, 0}, /* its worker's ttl: check_worker */
    [KEY_BATCH] = {"hash", OF_BATCH, 0},
    [KEY_BATCHES] = {"zset", OF_NAMESPACE, 0},
    [KEY_BEAT] = {"hash", OF_NAMESPACE, 0},
    [KEY_COMPLETE] = {"zset", OF_INDEX, 0},
    [KEY_CONFIG] = {"hash", OF_NAMESPACE, 0},
    [KEY_CRONS] = {"zset", OF_TRACKED, 0},
    [KEY_DELAYED] = {"zset", OF_QUEUE, 0},
    [KEY_DEPENDENCIES] = {"set", OF_JOB, 0},
    [KEY_DEPENDENTS] = {"zset", OF_AWAITED, 0},
    [KEY_DEPENDS] = {"zset", OF_INDEX, 0},
    [KEY_DUE] = {"zset", OF_NAMESPACE, 0},
    [KEY_ENDED] = {"zset", OF_NAMESPACE, 0},
    [KEY_FAILED] = {"zset", OF_INDEX, 0},
    [KEY_FAILURES] = {"hash", OF_QUEUE, 0},
    [KEY_FIRSTS] = {"hash", OF_SET, 0}, /* it may outlive its set: plain finishes leave it */
    [KEY_FOLLOWERS] = {"zset", OF_AWAITED, 0},
    [KEY_FORMAT] = {"string", OF_NAMESPACE, 0},
    [KEY_FREED] = {"zset", OF_ENDED, 0},
    [KEY_GAPS] = {"zset", OF_QUEUE, 0},
    [KEY_HELD] = {"zset", OF_INDEX, 0},
    [KEY_HISTORY] = {"list", OF_JOB, 0},
    [KEY_HOLDERS] = {"hash", OF_LEASED, 0},
    [KEY_HOLDS] = {"zset", OF_HOLDER, 0},
    [KEY_HOME] = {"hash", OF_HOME, 0}, /* named after a life, whose record is gone */
    [KEY_IDLE] = {"zset", OF_QUEUE, 0},
    [KEY_JOB] = {"hash", OF_JOB, 0},
    [KEY_KEYED] = {"zset", OF_INDEX, 0},
    [KEY_LEASES] = {"zset", OF_QUEUE, 0},
    [KEY_MARKS] = {"hash", OF_MARKED, 0},
    [KEY_MEMBERS] = {"zset", OF_BATCH, 0},
    [KEY_MOVES] = {"zset", OF_QUEUE, 0},
    [KEY_NAMES] = {"zset", OF_NAMESPACE, 0},
    [KEY_NOTES] = {"hash", OF_MARKED, 0},
    [KEY_PAST] = {"zset", OF_NAMESPACE, 0},
    [KEY_PROCESSING] = {"hash", OF_SET, 0},
    [KEY_QUEUE] = {"hash", OF_QUEUE, 0},
    [KEY_QUEUES] = {"list", OF_QUEUE, 0},
    [KEY_RECURRING] = {"zset", OF_INDEX, 0},
    [KEY_REGISTRY] = {"zset", OF_NAMESPACE, 0},
    [KEY_REQUEST] = {"hash", OF_REQUEST, HOUR_MS},
    [KEY_RETURNED] = {"zset", OF_BACK, 0},
    [KEY_RUNNING] = {"zset", OF_INDEX, 0},
    [KEY_SCHEDULED] = {"zset", OF_INDEX, 0},
    [KEY_STATS] = {"hash", OF_STATS, STATS_MS},
    [KEY_SUSPECTS] = {"hash", OF_SUSPECTS, 0},
    [KEY_TAG] = {"zset", OF_TAG, 0},
    [KEY_TAGS] = {"zset", OF_NAMESPACE, 0},
    [KEY_TAKE] = {"string", OF_REQUEST, HOUR_MS},
    [KEY_TAKERS] = {"zset", OF_REQUEST, LISTEN_MS},
    [KEY_TIMER] = {"string", OF_NAMESPACE, TIMER_MS},
    [KEY_TOKEN] = {"string", OF_NAMESPACE, 0},
    [KEY_TRACKED] = {"zset", OF_TRACKED, 0},
    [KEY_TTLS] = {"zset", OF_NAMESPACE, 0},
    [KEY_UPGRADE] = {"zset", OF_AWAITED, 0},
    [KEY_WAITING] = {"zset", OF_INDEX, 0},
    [KEY_WORKER] = {"hash", OF_WORKER, 0},
};

/* The kind that a key has by its name, and in *rest the name at its end. NULL: it has no kind. */
static const struct kind *kind_of(const char *key, const char **rest)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t len = strlen(key_names[i]);
        bool has_name = key_names[i][len - 1] == ':';
        *rest = key + len;
        if (has_name ? strncmp(key, key_names[i], len) == 0 : strcmp(key, key_names[i]) == 0)
            return &kinds[i];
    }
    return NULL;
}

static bool is_holder(const char *id)
{
    return strcmp(id, MUSTER_LEASE_ID) == 0 || !muster_worker_id_check(id);
}

static int add_holder(struct check *k, const char *id)
{
    return strcmp(id, MUSTER_LEASE_ID) == 0 ? MUSTER_OK : name_list_add(&k->workers, id, strlen(id));
}

/* "<worker>:<queue>" */
static int add_set(struct check *k, const char *name, bool *is_known)
{
    char worker[MUSTER_WORKER_ID_MAX + 1];
    size_t len = strcspn(name, ":");
    snprintf(worker, sizeof worker, "%.*s", (int)len, name);
    *is_known = len < sizeof worker && name[len] == ':' && is_holder(worker) && !muster_queue_check(name + len + 1);
    if (!*is_known)
        return MUSTER_OK;
    int err = name_list_add(&k->sets, name, strlen(name));
    if (err == MUSTER_OK)
        err = add_holder(k, worker);
    return err == MUSTER_OK ? name_list_add(&k->queues, name + len + 1, strlen(name + len + 1)) : err;
}

/* "<home>:<queue>": the epoch of a life, or "-" */
static int add_home(struct check *k, const char *name, bool *is_known)
{
    uint64_t epoch;
    size_t len = strcspn(name, ":");
    bool is_epoch = len == TOKEN_LEN && token_parse(name, len, &epoch) == MUSTER_OK;
    *is_known = (is_epoch || (len == 1 && *name == '-')) && name[len] == ':' && !muster_queue_check(name + len + 1);
    int err = *is_known ? name_list_add(&k->homes, name, strlen(name)) : MUSTER_OK;
    return *is_known && err == MUSTER_OK ? name_list_add(&k->queues, name + len + 1, strlen(name + len + 1)) : err;
}

/* "<day>:<queue>" */
static bool is_of_a_day(const char *name)
{
    size_t len = strspn(name, "0123456789");
    return len > 0 && name[len] == ':' && !muster_queue_check(name + len + 1);
}

/* Tags and jobs are named like queues. */
static int add_if_named(struct name_list *names, const char *name, bool *is_known)
{
    *is_known = !muster_queue_check(name);
    return *is_known ? name_list_add(names, name, strlen(name)) : MUSTER_OK;
}

/* For a list of jobs the key itself is noted. */
static int add_index(struct check *k, const char *key, bool *is_known)
{
    *is_known = !muster_queue_check(key + strcspn(key, ":") + 1);
    return *is_known ? name_list_add(&k->indexes, key, strlen(key)) : MUSTER_OK;
}

static int add_queue_of_index(struct check *k, const char *key, const char *name, bool *is_known)
{
    int err = add_index(k, key, is_known);
    return err == MUSTER_OK ? add_if_named(&k->queues, name, is_known) : err;
}

static int add_queue_to(struct check *k, struct name_list *names, const char *name, bool *is_known)
{
    int err = add_if_named(names, name, is_known);
    return err == MUSTER_OK ? add_if_named(&k->queues, name, is_known) : err;
}

static int add_worker(struct check *k, const char *name, bool *is_known)
{
    *is_known = !muster_worker_id_check(name);
    return *is_known ? add_holder(k, name) : MUSTER_OK;
}

static struct name_list *queues_with(struct check *k, enum owner owner)
{
    return owner == OF_BACK ? &k->back : owner == OF_LEASED ? &k->leased : &k->suspects;
}

static int add_if(struct name_list *names, const char *name, bool is_known)
{
    return is_known ? name_list_add(names, name, strlen(name)) : MUSTER_OK;
}

static struct name_list *jobs_or_batches(struct check *k, enum owner owner)
{
    return owner == OF_JOB ? &k->jobs : owner == OF_BATCH ? &k->batches : &k->awaited;
}

/* Of what nothing is noted: is the name one of its kind? */
static bool is_possible(enum owner owner, const char *name)
{
    if (owner == OF_ENDED) /* "<kind><id>" */
        return *name && !muster_job_id_check(name + 1);
    return owner == OF_STATS ? is_of_a_day(name) : !muster_queue_check(name);
}

/* Note what a key names at its end. *is_known: such a name is possible. */
static int add_owner(struct check *k, enum owner owner, const char *key, const char *name, bool *is_known)
{
    *is_known = true;
    switch (owner) {
    case OF_NAMESPACE:
        return MUSTER_OK;
    case OF_TRACKED:
        return name_list_add(&k->indexes, key, strlen(key));
    case OF_TAG:
        return add_index(k, key, is_known);
    case OF_INDEX:
        return add_queue_of_index(k, key, name, is_known);
    case OF_JOB:
    case OF_BATCH:
    case OF_AWAITED:
        return add_if_named(jobs_or_batches(k, owner), name, is_known);
    case OF_ENDED:
    case OF_STATS:
    case OF_REQUEST:
        *is_known = is_possible(owner, name);
        return MUSTER_OK;
    case OF_WORKER:
        return add_worker(k, name, is_known);
    case OF_MARKED:
        return add_if(&k->marked, name, *is_known = is_holder(name));
    case OF_HOLDER:
        return add_if(&k->holders, name, *is_known = !muster_worker_id_check(name));
    case OF_QUEUE:
        return add_if_named(&k->queues, name, is_known);
    case OF_BACK:
    case OF_LEASED:
    case OF_SUSPECTS:
        return add_queue_to(k, queues_with(k, owner), name, is_known);
    case OF_HOME:
        return add_home(k, name, is_known);
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
    return name_list_add(&k->keys, (const char *)key.data + root, key.len - root);
}

/* A prefix has no character that is special in a pattern. */
static int list_keys(struct check *k)
{
    char cursor[PAGE_CURSOR_MAX] = "0", pattern[KEY_MAX + 1];
    const char *const words[] = {"SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT, NULL};
    unsigned connection;
    int err = page_begin_keys(k->client, &connection);
    snprintf(pattern, sizeof pattern, "%s*", k->client->root.text);
    while (err == MUSTER_OK) {
        struct redisReply *reply;
        err = check_scan(k, words, cursor, &reply);
        const struct redisReply *page = reply_at(reply, 1);
        for (size_t i = 0; err == MUSTER_OK && i < reply_len(page); i++)
            err = add_key(k, reply_bytes(reply_at(page, i)));
        redis_reply_free(reply);
        if (err == MUSTER_OK)
            err = client_step(k->client, k->keys.n, 0);
        if (check_is_at_end(k, cursor))
            break;
    }
    name_list_sort(&k->keys); /* SCAN may bring a key twice */
    return err == MUSTER_OK ? page_end_keys(k->client, connection) : err;
}

/* Add a key to the command, with what it should be. */
static int add_expected(struct check *k, struct command *command, const struct name *key)
{
    const char *rest;
    bool is_known = false;
    const struct kind *kind = strlen(key->text) == key->len ? kind_of(key->text, &rest) : NULL;
    int err = kind && *kind->type ? add_owner(k, kind->owner, key->text, rest, &is_known) : MUSTER_OK;
    script_check_key(command, (struct muster_bytes){key->text, key->len}, is_known ? kind->type : "",
                     is_known ? kind->ttl_ms : 0, is_known ? unseen[kind->owner] : "");
    return err;
}

static int check_some_keys(struct check *k, size_t at)
{
    int err = MUSTER_OK;
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    script_check_keys(&command, &k->client->root, k->repair);
    for (size_t end = at + CHECK_PAGE; err == MUSTER_OK && at < k->keys.n && at < end; at++)
        err = add_expected(k, &command, &k->keys.at[at]);
    if (err == MUSTER_OK)
        return check_run(k, &command, &checked);
    command_clear(&command);
    return err;
}

/* How much else there is to look at is known once the keys are. */
int check_keys(struct check *k)
{
    int err = list_keys(k);
    k->total = k->keys.n;
    return err == MUSTER_OK ? check_each(k, &k->keys, CHECK_PAGE, check_some_keys) : err;
}

/* ---- what is named by a member only ---- */

static int add_member(struct muster_client *c, const char *member, void *arg, bool *stop)
{
    (void)c, (void)stop;
    return name_list_add(arg, member, strlen(member));
}

static int add_queue_member(struct muster_client *c, const char *member, void *arg, bool *stop)
{
    return muster_queue_check(member) ? MUSTER_OK : add_member(c, member, arg, stop);
}

/* A tag that is counted should have a list, whether it exists or not. */
static int add_tag_member(struct muster_client *c, const char *member, void *arg, bool *stop)
{
    char key[KEY_MAX];
    int len = snprintf(key, sizeof key, "%s%s", key_names[KEY_TAG], member);
    (void)c, (void)stop;
    return len < (int)sizeof key ? name_list_add(arg, key, (size_t)len) : MUSTER_OK;
}

int check_members(struct check *k)
{
    const struct {
        enum key zset;
        page_member_fn *fn;
        struct name_list *names;
    } lists[] = {{KEY_REGISTRY, add_member, &k->workers},   {KEY_TTLS, add_member, &k->workers},
                 {KEY_NAMES, add_queue_member, &k->queues}, {KEY_BATCHES, add_queue_member, &k->batches},
                 {KEY_PAST, add_queue_member, &k->batches}, {KEY_TAGS, add_tag_member, &k->indexes}};
    struct name_list *const sorted[] = {&k->workers, &k->queues,  &k->sets,     &k->homes,  &k->back,
                                        &k->leased,  &k->holders, &k->suspects, &k->marked, &k->jobs,
                                        &k->awaited, &k->indexes, &k->batches};
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < sizeof lists / sizeof *lists; i++)
        err = check_forgive_wrong_type(k, page_each_member(k->client, lists[i].zset, lists[i].fn, lists[i].names));
    for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++) {
        name_list_sort(sorted[i]);
        k->total += sorted[i]->n;
    }
    return err;
}
