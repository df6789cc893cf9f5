/* SPDX-License-Identifier: MIT
 *
 * The account of a round: it waits for the end of all its work, and makes the book of it.
 */
#include <muster/client.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"

#define END_MS 120000
/* Where it may not come: an account has something to find. */
#define NO_END_MS 8000
#define LOOK_MS 100

/* ---- the end of a round ---- */

struct left {
    uint64_t work, workers;
};

static int add_queue(const struct muster_queue_info *q, void *arg)
{
    struct left *left = arg;
    left->work += q->waiting + q->running + q->delayed + q->depends;
    return 0;
}

static int add_dead(const struct muster_worker_info *w, void *arg)
{
    struct left *left = arg;
    left->workers += !w->alive;
    return 0;
}

bool account_await_end(const struct campaign *c, struct muster_client *client, struct crew *crew)
{
    struct left left;
    int64_t end_ms = c->faults & OF_AN_ACCOUNT ? NO_END_MS : END_MS, until = now_ms() + end_ms;
    do {
        left = (struct left){0};
        if (!crew_tend(crew))
            return false;
        if (muster_queue_list(client, add_queue, &left) || muster_worker_list(client, add_dead, &left)) {
            fprintf(stderr, "campaign: queues cannot be listed: %s\n", muster_client_error(client));
            return false;
        }
        if (!left.work && !left.workers)
            return true;
        sleep_ms(LOOK_MS);
    } while (now_ms() < until);
    fprintf(stderr,
            "campaign: %" PRId64 " s after the last fault %" PRIu64 " tasks and %" PRIu64 " dead workers are left\n",
            end_ms / 1000, left.work, left.workers);
    return false;
}

/* ---- the lines ---- */

static struct line *add_line(struct book *b)
{
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 4096;
        b->lines = realloc(b->lines, b->room * sizeof *b->lines);
        if (!b->lines)
            exit(2);
    }
    return memset(&b->lines[b->n++], 0, sizeof *b->lines);
}

static void read_record(struct book *b)
{
    char text[256];
    FILE *f = fopen(b->campaign->record, "r");
    while (f && fgets(text, sizeof text, f)) {
        struct line *l = add_line(b);
        if (sscanf(text, "%c %47s %" SCNu64 " %23s %" SCNd64 " %23s", &l->kind, l->name, &l->token, l->life, &l->at_ms,
                   l->word) != 6) {
            fprintf(stderr, "campaign: the record holds another line: %s", text);
            exit(2);
        }
    }
    if (f)
        fclose(f);
}

static int add_failure(const struct muster_failure *failure, void *arg)
{
    struct work w;
    struct line *l = add_line(arg);
    l->kind = 'X';
    snprintf(l->name, sizeof l->name, "%s", work_read(&w, failure->task, failure->len) ? w.name : "?");
    snprintf(l->word, sizeof l->word, "%.*s", WORD_MAX_LEN, failure->group);
    return 0;
}

static bool read_failures(struct book *b, struct muster_client *client)
{
    for (int i = 0; i < ALL_QUEUES; i++) {
        struct muster_failed_filter f = {.size = sizeof f, .queue = queue_names[i]};
        if (muster_failed_list(client, &f, add_failure, b) || muster_failed_drop(client, &f, NULL)) {
            fprintf(stderr, "campaign: the failed list: %s\n", muster_client_error(client));
            return false;
        }
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order)
        return order;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return x->at_ms < y->at_ms ? -1 : x->at_ms > y->at_ms;
}

/* ---- faults ---- */

enum fault book_fault(const char *word)
{
    int i = 0;
    while (i < FAULT_COUNT && strcmp(word, fault_names[i]))
        i++;
    return (enum fault)i;
}

bool book_has_fault(const struct book *b, const char *life, unsigned faults, int64_t from, int64_t to)
{
    for (size_t i = 0; i < b->n && !strcmp(b->lines[i].name, "-"); i++) {
        const struct line *l = &b->lines[i];
        if (l->at_ms < from || l->at_ms > to)
            continue;
        if (l->kind == 'G' && faults & BIT(FAULT_STOP) && !strcmp(l->life, life))
            return true;
        if (strchr("FH", l->kind) && faults & BIT(book_fault(l->word)) && (l->life[0] == '-' || !strcmp(l->life, life)))
            return true;
    }
    return false;
}

/* Is Redis hurt in this time? Some faults last for longer than what comes of them. */
static bool is_redis_hurt(const struct book *b, int64_t from, int64_t to)
{
    int64_t hurt_at = INT64_MAX;
    for (size_t i = 0; i < b->n && !strcmp(b->lines[i].name, "-"); i++) {
        const struct line *l = &b->lines[i];
        if (l->life[0] != '-' || !strchr("FH", l->kind))
            continue;
        if (l->kind == 'F')
            hurt_at = l->at_ms;
        else if (hurt_at <= to && l->at_ms >= from)
            return true;
    }
    return false;
}

bool book_may_forget(const struct book *b, int64_t at_ms)
{
    return book_has_fault(b, "-", FORGETFUL, at_ms, at_ms + FORGOTTEN_MS);
}

int64_t book_death(const struct book *b, const char *life, int64_t from)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < b->n && !strcmp(b->lines[i].name, "-"); i++) {
        const struct line *l = &b->lines[i];
        if (l->kind == 'F' && l->at_ms >= from && l->at_ms < first && DEADLY & BIT(book_fault(l->word)) &&
            !strcmp(l->life, life))
            first = l->at_ms;
    }
    return first;
}

void book_blame(struct book *b, const char *name, const char *what)
{
    b->n_wrong++;
    fprintf(stderr, "campaign: seed %" PRIu64 ": %s: %s\n", b->campaign->seed, name, what);
}

/* Lives that were lost or in doubt without a reason. */
static void judge_lives(struct book *b)
{
    for (size_t i = 0; i < b->n && !strcmp(b->lines[i].name, "-"); i++) {
        const struct line *l = &b->lines[i];
        int64_t from = l->at_ms - 3 * TTL_MS, to = l->at_ms + TTL_MS;
        if (l->kind == 'F')
            b->figures->faults[book_fault(l->word)]++;
        if (l->kind == 'L' && !book_has_fault(b, l->life, OF_A_LIFE | REFUSALS | FORGETFUL, from, to))
            book_blame(b, l->life, "a worker was lost, though nothing hurt it");
        if (l->kind == 'D' && !book_has_fault(b, l->life, OF_A_LIFE | OF_REDIS, from, to) &&
            !is_redis_hurt(b, from, to))
            book_blame(b, l->life, "a worker was in doubt, though nothing hurt it or Redis");
    }
}

static int note_damage(const struct muster_damage *damage, void *arg)
{
    book_blame(arg, damage->key, damage->what);
    return 0;
}

bool account_balance(const struct campaign *c, struct muster_client *client, struct figures *f)
{
    struct book b = {.campaign = c, .client = client, .figures = f};
    if (muster_client_check(client, 0, note_damage, &b)) {
        fprintf(stderr, "campaign: the check: %s\n", muster_client_error(client));
        return false;
    }
    if (!read_failures(&b, client))
        return false;
    read_record(&b);
    qsort(b.lines, b.n, sizeof *b.lines, by_name);
    judge_lives(&b);
    judge_tasks(&b);
    judge_alone(&b);
    judge_tokens(&b);
    gaps_note(&b);
    free(b.lines);
    free(b.runs);
    return b.n_wrong == 0;
}
