/* SPDX-License-Identifier: MIT
 *
 * Many processes in one call: ended, or extended.
 *
 * Up to 200 of them, of any queues, go in one script call, which costs Redis a fraction of a call for each: most of a
 * call is that its functions are made. The script carries out each by itself and answers for each, so what is the matter with
 * one of them costs no other. It may leave some to the next call, because they move too many bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lease_end.h"
#include "protocol/lua_scripts.h"
#include "protocol/script_task.h"

/* So many bytes go together, or one process with more. */
#define CHUNK_BYTES ((size_t)1024 * 1024)

/* What errs[] holds of a process that is to be said; what is final is no positive number. */
enum { TO_SAY = 1 };

struct many {
    struct muster_client *c;
    size_t n;
    int *errs;
    size_t first;   /* of those with an error; n: none */
    char why[1024]; /* its words */

    /* The chunk: which they are, and what its command needs. */
    size_t chunk[SCRIPT_SEVERAL_MAX], n_chunk;
    size_t most; /* so many go together: more were too large for this Redis */
    struct end_by_id named[SCRIPT_SEVERAL_MAX];

    /* What is done with each: the i-th is checked, is said as the k-th of a chunk, and its answer is heard. `bytes`: about
     * how many it has, besides its id. */
    const struct lua_script *script;
    int (*check)(struct many *m, size_t i, struct end_by_id *named);
    void (*say)(struct many *m, size_t i, size_t k, struct command *command);
    void (*hear)(struct many *m, size_t i, int err, const char *word);
    size_t (*bytes)(const struct many *m, size_t i);
    const char *const *processes;
    struct muster_extend_options extension;
    const struct muster_lease_end *ends;
    size_t stride;
};

static void note(struct many *m, size_t i, int err)
{
    m->errs[i] = err;
    if (err == MUSTER_OK || i >= m->first)
        return;
    m->first = i;
    snprintf(m->why, sizeof m->why, "%s", redis_error(m->c->redis));
}

/* There is no answer to them, and to what was not sent there will be none. */
static void note_rest(struct many *m, int err)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->errs[i] == TO_SAY)
            note(m, i, err);
}

/* ---- one chunk ---- */

/* What is not allowed is told here, and not sent. Returns where the next chunk begins. */
static size_t say_chunk(struct many *m, size_t at, struct command *command)
{
    size_t bytes = 0;
    m->n_chunk = 0;
    for (; at < m->n && m->n_chunk < m->most; at++) {
        struct end_by_id *named = &m->named[m->n_chunk];
        if (m->errs[at] != TO_SAY)
            continue;
        int err = m->check(m, at, named);
        if (err != MUSTER_OK) {
            note(m, at, err);
            continue;
        }
        size_t len = m->bytes(m, at);
        if (m->n_chunk > 0 && bytes + len > CHUNK_BYTES) {
            end_by_id_clear(named);
            break;
        }
        bytes += len;
        m->say(m, at, m->n_chunk, command);
        m->chunk[m->n_chunk++] = at;
    }
    return at;
}

/* Redis has read no such request, so nothing of it was carried out. Of several, fewer may pass. */
static void hear_too_big(struct many *m)
{
    if (m->n_chunk == 1)
        note(m, m->chunk[0], MUSTER_E_TOO_BIG);
    else
        m->most = m->n_chunk / 2;
}

/* Of one process the script's own status is its. Of several the call has its own, and so has each that was carried
 * out. */
static int hear_chunk(struct many *m, int err, const struct redisReply *reply)
{
    const size_t n = script_several(reply);
    if (err == MUSTER_E_TOO_BIG && !reply) {
        hear_too_big(m);
        return MUSTER_OK;
    }
    if (m->n_chunk == 1 && reply) {
        m->hear(m, m->chunk[0], err, reply_text(reply_at(reply, 1)));
        note(m, m->chunk[0], err);
        return MUSTER_OK;
    }
    if (err == MUSTER_OK && (n == 0 || n > m->n_chunk))
        err = client_understand(m->c, MUSTER_E_REDIS);
    for (size_t k = 0; k < n && err == MUSTER_OK; k++) {
        int status;
        const char *word;
        err = client_understand(m->c, script_one_of(reply, k, &status, &word));
        if (err != MUSTER_OK)
            break;
        if (status != MUSTER_OK)
            redis_script_say(m->c->redis, m->script, status, word);
        m->hear(m, m->chunk[k], status, word);
        note(m, m->chunk[k], status);
    }
    return err;
}

static int run_chunk(struct many *m, size_t *at)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    int err = MUSTER_OK;
    *at = say_chunk(m, *at, &command);
    if (m->n_chunk > 0) {
        err = client_run(m->c, &command, &reply);
        err = hear_chunk(m, err, reply);
    }
    redis_reply_free(reply);
    for (size_t k = 0; k < m->n_chunk; k++) {
        end_by_id_clear(&m->named[k]);
        if (m->errs[m->chunk[k]] == TO_SAY && m->chunk[k] < *at)
            *at = m->chunk[k];
    }
    return err;
}

static int run_all(struct many *m)
{
    int err = MUSTER_OK;
    m->first = m->n;
    m->most = SCRIPT_SEVERAL_MAX;
    for (size_t i = 0; i < m->n; i++)
        m->errs[i] = TO_SAY;
    for (size_t at = 0; err == MUSTER_OK && at < m->n;)
        err = run_chunk(m, &at);
    if (err != MUSTER_OK)
        note_rest(m, err);
    if (m->first == m->n)
        return MUSTER_OK;
    redis_error_set(m->c->redis, "%s", m->why);
    return m->errs[m->first];
}

static int refuse_all(int *errs, size_t n, int err)
{
    for (size_t i = 0; errs && i < n; i++)
        errs[i] = err;
    return err;
}

static int check_places(struct muster_client *c, const void *what, size_t n, const int *errs)
{
    return n == 0 || (what && errs) ? MUSTER_OK
                                    : client_refuse(c, "processes, and a place for the status of each, must be given");
}

/* It is too large for the stack of a thread. */
static int run(const struct many *what)
{
    struct many *m = what->n > 0 ? malloc(sizeof *m) : NULL;
    if (what->n == 0)
        return MUSTER_OK;
    if (!m) {
        redis_error_set(what->c->redis, "out of memory");
        return refuse_all(what->errs, what->n, MUSTER_E_NOMEM);
    }
    *m = *what;
    int err = run_all(m);
    free(m);
    return err;
}

/* ---- extending ---- */

static int check_extension(struct many *m, size_t i, struct end_by_id *named)
{
    named->after = NULL;
    return lease_extend_check(m->c, m->processes[i], &named->name);
}

static void say_extension(struct many *m, size_t i, size_t k, struct command *command)
{
    const struct process_name *p = &m->named[k].name;
    const struct muster_extend_options *o = &m->extension;
    (void)i;
    if (k == 0)
        script_extend(command, &m->c->root, p->worker, p->token, p->queue, o->lease_ms, o->progress, o->data);
    else
        script_extend_more(command, p->worker, p->token, p->queue);
}

static void hear_extension(struct many *m, size_t i, int err, const char *word)
{
    lease_end_hear(m->c, END_BY_ID_EXTEND, err, m->processes[i], word);
}

/* Of a job's record all is written, whatever of it was changed. */
static size_t bytes_of_extension(const struct many *m, size_t i)
{
    (void)i;
    return m->extension.data ? m->extension.data->len : 0;
}

int muster_lease_extend_many(struct muster_client *c, const char *const *processes, size_t n,
                             const struct muster_extend_options *o, int *errs)
{
    struct many m = {.c = c,
                     .n = n,
                     .errs = errs,
                     .script = &lua_scripts[SCRIPT_EXTEND],
                     .check = check_extension,
                     .say = say_extension,
                     .hear = hear_extension,
                     .bytes = bytes_of_extension,
                     .processes = processes};
    int err = lease_extend_read(c, &m.extension, o);
    if (err == MUSTER_OK)
        err = check_places(c, processes, n, errs);
    return err == MUSTER_OK ? run(&m) : refuse_all(errs, n, err);
}

/* ---- ending ---- */

static const void *end_at(const struct many *m, size_t i)
{
    return (const char *)m->ends + i * m->stride;
}

/* Its size has been checked. */
static struct muster_lease_end end_of(const struct many *m, size_t i)
{
    struct muster_lease_end e;
    (void)sized_read(SIZED_LEASE_END, &e, end_at(m, i));
    return e;
}

static int check_end(struct many *m, size_t i, struct end_by_id *named)
{
    const struct muster_lease_end e = end_of(m, i);
    return lease_end_check(m->c, &e, named);
}

static void say_end(struct many *m, size_t i, size_t k, struct command *command)
{
    const struct muster_lease_end e = end_of(m, i);
    if (k == 0)
        script_end(command, &m->c->root, m->named[k].holder);
    else
        script_end_more(command, m->named[k].holder);
    end_by_id_say(command, &m->named[k], &e);
}

static void hear_end(struct many *m, size_t i, int err, const char *word)
{
    const struct muster_lease_end e = end_of(m, i);
    lease_end_hear(m->c, end_by_id_kind(&e), err, e.process, word);
}

static size_t bytes_of_end(const struct many *m, size_t i)
{
    const struct muster_lease_end e = end_of(m, i);
    return (e.result ? e.result->len : 0) + (e.message ? strlen(e.message) : 0);
}

/* The first one's size says where the next one is. */
static int check_sizes(struct many *m)
{
    struct muster_lease_end e;
    int err = MUSTER_OK;
    if (m->n > 0)
        err = client_read(m->c, SIZED_LEASE_END, &e, m->ends);
    m->stride = m->n > 0 && err == MUSTER_OK ? m->ends->size : 0;
    for (size_t i = 1; err == MUSTER_OK && i < m->n; i++) {
        err = client_read(m->c, SIZED_LEASE_END, &e, end_at(m, i));
        if (err == MUSTER_OK && e.size != m->stride)
            err = client_refuse(m->c, "all of an array of struct muster_lease_end must have the same size");
    }
    return err;
}

int muster_lease_end_many(struct muster_client *c, const struct muster_lease_end *ends, size_t n, int *errs)
{
    struct many m = {.c = c,
                     .n = n,
                     .errs = errs,
                     .script = &lua_scripts[SCRIPT_END],
                     .check = check_end,
                     .say = say_end,
                     .hear = hear_end,
                     .bytes = bytes_of_end,
                     .ends = ends};
    int err = check_places(c, ends, n, errs);
    if (err == MUSTER_OK)
        err = check_sizes(&m);
    return err == MUSTER_OK ? run(&m) : refuse_all(errs, n, err);
}
