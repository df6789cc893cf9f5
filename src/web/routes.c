/* SPDX-License-Identifier: MIT
 *
 * Each route is a verb and what becomes of its parameters; some take more than one call.
 */
#include "routes.h"

#include <cjson/cJSON.h>
#include <event2/http.h>
#include <inttypes.h>
#include <muster/batch.h>
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch_row.h"
#include "json_value.h"
#include "need.h"
#include "out.h"
#include "process_row.h"
#include "queue_row.h"
#include "text.h"
#include "verbs.h"

#define PAGED "n=?count offset=?cursor"

/* ---- processes and batches: their verbs have no pages ---- */

struct page {
    struct out_table table;
    uint64_t from, n, seen;
};

static struct page page_of(struct ask *a, const struct out_column *columns)
{
    return (struct page){.table = {.columns = columns, .json = true},
                         .from = (uint64_t)ask_number(a, "cursor", 0, INT64_MAX / 2),
                         .n = (uint64_t)ask_number(a, "count", 0, INT64_MAX / 2)};
}

/* Is the next row one of the page? */
static bool is_in(struct page *p)
{
    return p->seen++ >= p->from;
}

static bool is_full(const struct page *p)
{
    return p->seen >= p->from + p->n;
}

static int add_process(const struct muster_process_info *process, void *arg)
{
    struct page *p = arg;
    if (is_in(p))
        process_row_add(&p->table, process);
    return is_full(p);
}

static void list_processes(struct ask *a)
{
    struct page page = page_of(a, process_row_columns);
    const struct muster_process_filter filter = {
        .size = sizeof filter,
        .queue = ask_param(a, "queue"),
        .worker = ask_param(a, "worker"),
        .holder = ask_param(a, "holder"),
    };
    out_collect(a->items);
    int err = muster_process_list(a->client, &filter, add_process, &page);
    out_collect(NULL);
    ask_refuse_error(a, err);
}

static int add_batch(const struct muster_batch *batch, void *arg)
{
    struct page *p = arg;
    if (is_in(p))
        batch_row_add(&p->table, batch);
    return is_full(p);
}

static void list_batches(struct ask *a)
{
    struct page page = page_of(a, batch_row_columns);
    out_collect(a->items);
    int err = muster_batch_list(a->client, add_batch, &page);
    out_collect(NULL);
    ask_refuse_error(a, err);
}

/* ---- failures, and their groups ---- */

static void list_failed(struct ask *a)
{
    bool of_queue = ask_param(a, "queue");
    a->is_whole = !of_queue;
    (void)ask_run_verb(a, &cmd_failed, of_queue ? "?queue ?group " PAGED : "group=?group"); /* which the verb refuses */
}

/* Without a choice: how many of each queue are in which state. */
static void list_jobs(struct ask *a)
{
    a->is_whole = !ask_has(a, "state") && !ask_has(a, "tag") && !ask_has(a, "group") && !ask_flag(a, "tracked") &&
                  !ask_flag(a, "newest") && !ask_flag(a, "oldest") && !ask_flag(a, "tags");
    (void)ask_run_verb(a, &cmd_jobs,
                       a->is_whole ? "queue=?queue past=?past"
                                   : "queue=?queue state=?state tag=?tag group=?group tracked?tracked newest?newest "
                                     "oldest?oldest past=?past tags?tags " PAGED);
}

/* One choice, and `all` is true itself: what is meant otherwise must not become all. */
static const char *chosen_args(struct ask *a)
{
    bool by_entry = ask_has(a, "entry") || ask_has(a, "entries"), by_group = ask_has(a, "group");
    bool by_all = ask_has(a, "all");
    if (by_all && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(a->params, "all")))
        ask_refuse(a, 400, muster_err_name(MUSTER_E_INVALID), "all must be true, or missing");
    else if (!ask_has(a, "queue") || by_entry + by_group + by_all != 1)
        ask_refuse(a, 400, muster_err_name(MUSTER_E_INVALID), "name the queue, and one of entry, entries, group, all");
    return by_group ? "?queue group=?group" : by_all ? "?queue all" : "?queue ?entry ?entries";
}

static void move_chosen(struct ask *a, const struct command *verb)
{
    const char *args = chosen_args(a);
    if (!a->status)
        (void)ask_run_verb(a, verb, args);
}

static void replay(struct ask *a)
{
    move_chosen(a, &cmd_replay);
}

static void drop(struct ask *a)
{
    move_chosen(a, &cmd_drop);
}

/* A failed job is found on its queue's list by its id. */
struct search {
    const char *id;
    char *entry;
};

static int compare_failure(const struct muster_failure *failure, void *arg)
{
    struct search *s = arg;
    if (failure->job && strcmp(failure->job, s->id) == 0)
        s->entry = need(strdup(failure->entry));
    return s->entry != NULL;
}

struct place {
    char queue[MUSTER_QUEUE_MAX + 1], group[MUSTER_GROUP_MAX + 1];
    bool has_failed;
};

static int note_place(const struct muster_job *job, void *arg)
{
    struct place *p = arg;
    p->has_failed = job->state == MUSTER_JOB_FAILED;
    snprintf(p->queue, sizeof p->queue, "%s", job->queue);
    snprintf(p->group, sizeof p->group, "%s", job->group);
    return 1;
}

static void move_job(struct ask *a, const struct command *verb)
{
    struct place place = {.has_failed = false};
    struct search search = {.id = a->stars[0]};
    int err = muster_job_peek(a->client, &search.id, 1, note_place, &place);
    if (err == MUSTER_OK && !place.has_failed) {
        ask_refuse(a, 409, muster_err_name(MUSTER_E_STATE), "the job has not failed");
        return;
    }
    const struct muster_failed_filter filter = {.size = sizeof filter, .queue = place.queue, .group = place.group};
    if (err == MUSTER_OK)
        err = muster_failed_list(a->client, &filter, compare_failure, &search);
    if (err != MUSTER_OK) {
        ask_refuse_error(a, err);
    } else if (!search.entry) {
        ask_refuse(a, 404, muster_err_name(MUSTER_E_NOT_FOUND), "the job is not on the failed list any more");
    } else {
        need(cJSON_AddStringToObject(a->params, "queue", place.queue));
        need(cJSON_AddStringToObject(a->params, "entry", search.entry));
        (void)ask_run_verb(a, verb, "?queue ?entry");
    }
    free(search.entry);
}

static void replay_job(struct ask *a)
{
    move_job(a, &cmd_replay);
}

static void drop_job(struct ask *a)
{
    move_job(a, &cmd_drop);
}

static void track_job(struct ask *a)
{
    bool is_on = !ask_has(a, "tracked") || ask_flag(a, "tracked");
    if (!a->status)
        (void)ask_run_verb(a, &cmd_change, is_on ? "$0 track" : "$0 untrack");
}

/* The verb counts what it has found of a job that does not exist, too: nothing. */
static void cancel_job(struct ask *a)
{
    if (ask_run_verb(a, &cmd_cancel, "$0 job dependents?all") != EXIT_NOT_FOUND)
        return;
    cJSON_Delete(a->items);
    a->items = need(cJSON_CreateArray());
}

/* ---- settings ---- */

/* {"name": 1} becomes "name=1", as the verb has it. */
static void set_words(struct ask *a)
{
    const cJSON *set = cJSON_GetObjectItemCaseSensitive(a->params, "set"), *each;
    cJSON *words = need(cJSON_AddArrayToObject(a->params, "words"));
    if (ask_has(a, "set") && !cJSON_IsObject(set)) {
        ask_refuse_param(a, "set", "must be an object");
        return;
    }
    ask_refuse_twice(a, set);
    cJSON_ArrayForEach(each, set)
    {
        static const struct opt count = {.kind = OPT_COUNT};
        char number[JSON_NUMBER_SIZE], *word = NULL;
        const char *why, *text = json_value_text(&count, each, number, &why);
        if (!text) {
            char *shown = text_printable(each->string, strlen(each->string), 60);
            ask_refuse_param(a, shown, why);
            free(shown);
            return;
        }
        if (asprintf(&word, "%s=%s", each->string, text) < 0 ||
            !cJSON_AddItemToArray(words, need(cJSON_CreateString(word))))
            need(NULL);
        free(word);
    }
}

static bool has_any(const struct ask *a, const char *name)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(a->params, name)) > 0;
}

/* A text would be passed over beside what is set. */
static void check_clear(struct ask *a)
{
    if (ask_has(a, "clear") && !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(a->params, "clear")))
        ask_refuse_param(a, "clear", "must be a list");
}

static void configure(struct ask *a)
{
    check_clear(a);
    set_words(a);
    if (a->status)
        return;
    bool sets = has_any(a, "words"), clears = has_any(a, "clear");
    if (!sets && !clears)
        ask_refuse(a, 400, muster_err_name(MUSTER_E_INVALID), "nothing is to be set or cleared");
    if (sets)
        (void)ask_run_verb(a, &cmd_config, "?words queue=$0");
    if (clears && !a->status)
        (void)ask_run_verb(a, &cmd_config, "?clear queue=$0 unset");
}

/* Without an operand the verb would read standard input. */
static bool are_texts(const struct ask *a, const char *name)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(a->params, name), *each;
    cJSON_ArrayForEach(each, list) if (!cJSON_IsString(each)) return false;
    return cJSON_IsArray(list) && cJSON_GetArraySize(list) > 0;
}

static void enqueue(struct ask *a)
{
    if (are_texts(a, "tasks"))
        (void)ask_run_verb(a, &cmd_enqueue, "$0 ?tasks front?front");
    else
        ask_refuse(a, 400, muster_err_name(MUSTER_E_INVALID), "tasks must be a list of texts");
}

/* The words of the verb. Without DATA it would read standard input. */
#define PUT                                                                                                            \
    "$0 ?data id=?id priority=?priority delay=?delay at=?at retries=?retries backoff=?backoff limit=?limit tag=?tags " \
    "after=?after after-end=?after_end after-failure=?after_failure "                                                  \
    "may-be-missing?may_be_missing batch=?batch track?track replace?replace every=?every offset=?offset "              \
    "backlog=?backlog key=?key "                                                                                       \
    "cron=?cron zone=?zone from=?from until=?until count=?count overlap=?overlap"

static void put(struct ask *a)
{
    if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(a->params, "data")))
        (void)ask_run_verb(a, &cmd_put, PUT);
    else
        ask_refuse(a, 400, muster_err_name(MUSTER_E_INVALID), "data must be a text");
}

/* ---- one queue: what the loop does not know of it ---- */

static cJSON *rows_of(struct ask *a, const struct command *verb, const char *args)
{
    cJSON *items = a->items;
    a->items = need(cJSON_CreateArray());
    (void)ask_run_verb(a, verb, args);
    cJSON *rows = a->items;
    a->items = items;
    return rows;
}

static void describe_queue(struct ask *a)
{
    struct muster_queue_info info;
    int err = muster_queue_get(a->client, a->stars[0], &info);
    if (err != MUSTER_OK) {
        ask_refuse_error(a, err);
        return;
    }
    out_collect(a->items);
    (void)queue_row_print(&info, &(struct out_table){.columns = queue_row_columns, .json = true});
    out_collect(NULL);
    a->whole = need(cJSON_DetachItemFromArray(a->items, 0));
    cJSON_AddItemToObject(a->whole, "settings", rows_of(a, &cmd_config, "queue=$0"));
    if (a->status)
        return;
    cJSON *stats = rows_of(a, &cmd_stats, "queue=$0");
    cJSON *today = cJSON_DetachItemFromArray(stats, 0);
    cJSON_Delete(stats);
    cJSON_AddItemToObject(a->whole, "stats", today ? today : need(cJSON_CreateObject()));
}

/* ---- the list ---- */

#define CHOICE "?queue ?entry ?entries ?group ?all"

static const struct route routes[] = {
    {"GET", "queues/*", NULL, "", ASK_ITEMS, describe_queue, NULL},
    {"GET", "queues/*/tasks", &cmd_peek, "$0 " PAGED, ASK_PAGE, NULL, NULL},
    {"GET", "queues/*/delayed", &cmd_peek, "$0 delayed " PAGED, ASK_PAGE, NULL, NULL},
    {"GET", "processes", NULL, "?queue ?worker ?holder " PAGED, ASK_PAGE, list_processes, NULL},
    {"GET", "batches", NULL, PAGED, ASK_PAGE, list_batches, NULL},
    {"GET", "batches/*", &cmd_batch, "$0", ASK_ONE, NULL, NULL},
    {"GET", "failed", NULL, "?queue ?group " PAGED, ASK_PAGE, list_failed, NULL},
    {"GET", "jobs", NULL, "?queue ?state ?tag ?group ?tracked ?newest ?oldest ?past ?tags " PAGED, ASK_PAGE, list_jobs,
     NULL},
    {"GET", "jobs/*", &cmd_job, "$0 head?head", ASK_ONE, NULL, NULL},
    {"GET", "jobs/*/parents", &cmd_job, "$0 parents", ASK_ITEMS, NULL, NULL},
    {"GET", "stats", &cmd_stats, "queue=?queue day=?day", ASK_ITEMS, NULL, NULL},
    {"POST", "queues/*/pause", &cmd_pause, "$0", ASK_DONE, NULL, NULL},
    {"POST", "queues/*/resume", &cmd_resume, "$0", ASK_DONE, NULL, NULL},
    {"POST", "queues/*/delete", &cmd_delete, "$0 yes", ASK_DONE, NULL, NULL},
    {"POST", "queues/*/config", NULL, "?set ?clear", ASK_DONE, configure, NULL},
    {"POST", "queues/*/enqueue", NULL, "?tasks ?front", ASK_DONE, enqueue, "enqueued"},
    {"POST", "queues/*/put", NULL, PUT, ASK_DONE, put, NULL},
    {"POST", "workers/*/fail", &cmd_fail_worker, "$0", ASK_DONE, NULL, NULL},
    {"POST", "processes/cancel", &cmd_cancel, "?id process", ASK_DONE, NULL, NULL},
    {"POST", "jobs/*/cancel", NULL, "?all", ASK_DONE, cancel_job, NULL},
    {"POST", "jobs/*/replay", NULL, "", ASK_DONE, replay_job, "replayed"},
    {"POST", "jobs/*/drop", NULL, "", ASK_DONE, drop_job, "dropped"},
    {"POST", "jobs/*/track", NULL, "?tracked", ASK_DONE, track_job, NULL},
    {"POST", "jobs/*/change", &cmd_change,
     "$0 queue=?queue priority=?priority tag=+?tags_add tag=-?tags_remove log=?log data=?data cron=?cron zone=?zone "
     "overlap=?overlap",
     ASK_DONE, NULL, NULL},
    {"POST", "batches/*/close", &cmd_batch, ":close $0", ASK_DONE, NULL, NULL},
    {"POST", "batches/*/cancel", &cmd_batch, ":cancel $0", ASK_DONE, NULL, NULL},
    {"POST", "failed/replay", NULL, CHOICE, ASK_DONE, replay, "replayed"},
    {"POST", "failed/drop", NULL, CHOICE, ASK_DONE, drop, "dropped"},
};

/* A name in a path: decoded, without a NUL in it. */
static char *decode(const char *text, size_t len)
{
    char *copy = need(strndup(text, len));
    size_t n = 0;
    char *name = evhttp_uridecode(copy, 0, &n);
    free(copy);
    if (name && strlen(name) == n)
        return name;
    free(name);
    return NULL;
}

static bool is_match(const char *pattern, const char *path, char *stars[ASK_STARS_MAX])
{
    size_t n = 0;
    while (*pattern && *path) {
        if (*pattern == '*') {
            size_t len = strcspn(path, "/");
            stars[n] = decode(path, len);
            if (!stars[n++])
                return false;
            pattern++;
            path += len;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return !*pattern && !*path;
}

static void clear(char *stars[ASK_STARS_MAX])
{
    for (size_t i = 0; i < ASK_STARS_MAX; i++) {
        free(stars[i]);
        stars[i] = NULL;
    }
}

enum routes_found routes_find(const char *method, const char *path, const struct route **route,
                              char *stars[ASK_STARS_MAX])
{
    enum routes_found found = ROUTES_NO_PATH;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        clear(stars);
        if (!is_match(routes[i].path, path, stars))
            continue;
        *route = &routes[i];
        if (strcmp(routes[i].method, method) == 0)
            return ROUTES_FOUND;
        found = ROUTES_NO_METHOD;
    }
    clear(stars);
    return found;
}
