/* SPDX-License-Identifier: MIT
 *
 * What the files of a check share: what there is to look at, and how one of its scripts is sent.
 *
 *   check.c           its steps
 *   check_keys.c      the first two steps: what is there to look at?
 *   check_back.c      what came back, and suspects
 *   check_settings.c  the settings of the queues and of the namespace
 *   check_call.c      one call of it
 */
#ifndef CHECK_H
#define CHECK_H

#include "base/name_list.h"
#include "client/client.h"
#include "client/page.h"
#include "protocol/script_check.h"

/* How many keys, tokens or jobs go in one script. */
#define CHECK_PAGE 100
struct check {
    struct muster_client *client;
    enum script_repair repair;
    bool stop;
    bool are_records_doubtful; /* a worker's record was a find, so sums over all workers may look wrong */
    bool are_batches_doubtful; /* a job's record, or a nested batch was a find, so counts of batches may look wrong */
    muster_damage_fn *fn;
    void *arg;
    /* What there is to look at: */
    struct name_list keys; /* without the root */
    struct name_list workers;
    struct name_list queues;
    struct name_list sets;     /* as "<worker>:<queue>" */
    struct name_list homes;    /* as "<home>:<queue>" */
    struct name_list back;     /* queues to which something came back */
    struct name_list leased;   /* queues with leases that have a holder's name */
    struct name_list holders;  /* these names */
    struct name_list suspects; /* queues with suspects */
    struct name_list marked;   /* holders with marks or notes */
    struct name_list jobs;     /* also those that may have left only a part */
    struct name_list awaited;  /* jobs that others wait for */
    struct name_list indexes;  /* lists of jobs, as keys */
    struct name_list batches;  /* also what may be left of them */
    uint64_t done, total;      /* names that were looked at */
    uint64_t highest_token;
    unsigned short_pages; /* in a row, see check_run_page() */
};

/* ---- check_call.c ---- */

/* Send one of the scripts, tell what it found, and clear its command. */
int check_run(struct check *k, struct command *command, struct script_checked *out);

/* Call fn for each name, or for each first one of `page` of them: the place of the name is `at`. */
typedef int check_name_fn(struct check *k, size_t at);
int check_each(struct check *k, const struct name_list *names, size_t page, check_name_fn *fn);

/* The same for a script that looks at a page from `out->next` on, which moves on; below 0: that was the last one. */
int check_run_page(struct check *k, struct command *command, struct script_checked *out);

/* MUSTER_OK for the error of a key of the wrong type, which is a find of its own and lists nothing. */
int check_forgive_wrong_type(const struct check *k, int err);

/* One step of SCAN, HSCAN or SSCAN: `words` hold the cursor, which moves on. */
int check_scan(struct check *k, const char *const *words, char cursor[PAGE_CURSOR_MAX], struct redisReply **reply);
bool check_is_at_end(const struct check *k, const char *cursor);

/* Goes through a hash or a sorted set, of which `name` is the last part of the key: the names of CHECK_PAGE entries at
 * most end the command that `begin` has begun. */
typedef void check_begin_fn(struct check *k, struct command *command, const char *name);
int check_entries(struct check *k, enum key id, const char *name, check_begin_fn *begin);

/* ---- check_keys.c ---- */

/* Has each key its type? Notes what the keys name. */
int check_keys(struct check *k);
/* Notes what is named by a member only, and sorts all that was noted. */
int check_members(struct check *k);

/* ---- check_settings.c ---- */

int check_settings(struct check *k);

/* ---- check_back.c ---- */

/* It comes before queues, which it gives back what would never come out. */
int check_back(struct check *k);

#endif
