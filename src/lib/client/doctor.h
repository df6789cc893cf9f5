/* SPDX-License-Identifier: MIT
 *
 * Looking at a Redis: is it one that loses nothing, and may this user do all that muster asks for?
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "client/client.h"

/* One look. */
struct doctor {
    struct muster_client *client;
    muster_advice_fn *fn;
    void *arg;
    enum muster_role role;
    bool stop; /* the program wants no more */
    bool is_replica;
    bool has_said_keys, has_said_channels;
};

/* Tell the program. `what` and `advice` are formats. */
void doctor_say(struct doctor *d, enum muster_advice_level level, const char *subject, const char *advice,
                const char *what, ...) __attribute__((format(printf, 5, 6)));

/* doctor_pace.c: how soon it answers, several times, and what time it is there. Both return as
 * doctor_look_at_rights(). */
int doctor_connect(struct doctor *d);
int doctor_look_at_pace(struct doctor *d);
/* So long is too long for one answer, us. */
#define DOCTOR_SLOW_US 250000

/* doctor_place.c: the replicas, the sentinels' master and the cluster's slots. `info`: the answer to INFO. The second one
 * returns as doctor_look_at_rights(). */
void doctor_look_at_replicas(struct doctor *d, const char *info);
int doctor_look_at_place(struct doctor *d, const char *info);

/* Do as many replicas confirm as there are? n: -1, nobody knows. */
void doctor_look_at_confirmation(struct doctor *d, int64_t n);

/* doctor_rights.c: each right that is missing, in a line of its own. MUSTER_OK, or the error that ended it: no connection
 * any more. */
int doctor_look_at_rights(struct doctor *d);

/* A right is missing: the command's, or that of a key or channel, as Redis' words `why` say. One rule gives the right to
 * all keys, and another one that to all channels: each of the two is said once. */
void doctor_say_missing(struct doctor *d, const char *right, const char *why);

/* doctor_try.c: a write, a script, a message. Returns as doctor_look_at_rights(). */
int doctor_try(struct doctor *d);

/* What this user cannot see is unknown, with the rule that lets him see it. Roles that have no such rule, because they
 * need it for nothing, are not told to get it. */
void doctor_say_unseen(struct doctor *d, const char *subject, const char *rule, const char *what);

/* Is this the end of the connection? Then nothing more can be asked. */
bool doctor_is_over(int err);

#endif
