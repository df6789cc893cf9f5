/* SPDX-License-Identifier: MIT
 *
 * What the files of a check share: who and what was seen, and how one of its scripts is sent.
 */
#ifndef CHECK_H
#define CHECK_H

#include "base/name_list.h"
#include "client/client.h"
#include "protocol/script_check.h"

/* How many keys, tokens or jobs go in one script. */
#define CHECK_PAGE 100
/* The reserved id of those who hold tasks by a lease. */
#define LEASE MUSTER_LEASE_ID

struct check {
    struct muster_client *client;
    enum script_repair repair;
    bool stop;
    muster_damage_fn *fn;
    void *arg;
    /* Keys by what follows the root; sets as "<worker>:<queue>"; those with marks or notes; jobs, or what may be left of
     * some; those that others wait for; lists of jobs, as keys. */
    struct name_list keys, workers, queues, sets, marked, jobs, awaited, indexes;
    uint64_t highest_token;
};

/* Sends one of the scripts, tells what it found, and clears its command. */
int check_look(struct check *k, struct command *command, struct script_checked *out);

/* A key of the wrong type is a find of its own, and lists nothing: MUSTER_OK for that error. */
int check_or_wrong_type(const struct check *k, int err);

/* One step of SCAN, HSCAN or SSCAN: `words` hold the cursor, which is moved on. */
#define CHECK_CURSOR_MAX 24
int check_scan(struct check *k, const char *const *words, char cursor[CHECK_CURSOR_MAX], struct redisReply **reply);
int check_is_at_end(const struct check *k, const char *cursor);

/* The first two steps: has each key its type; and who and what is named by keys, or as a member somewhere? Sorts what it
 * has noted. */
int check_keys(struct check *k);
int check_members(struct check *k);

#endif
