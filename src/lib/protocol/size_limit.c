/* SPDX-License-Identifier: MIT
 *
 * What is too large, for workers and for takers of leases.
 */
#include "protocol/size_limit.h"

#include <inttypes.h>
#include <stdio.h>

#include "protocol/names.h"

void size_limit_note_break(struct size_suspect *s, const struct script_untaken *back)
{
    if (back->n != 1 || back->n_bytes < COMMAND_LARGE)
        *s = (struct size_suspect){0};
    else if (back->n_bytes == s->n_bytes)
        s->n_breaks++;
    else
        *s = (struct size_suspect){.n_bytes = back->n_bytes, .n_breaks = 1};
}

uint64_t size_limit_due(const struct size_suspect *s)
{
    return s->n_breaks >= SIZE_LIMIT_BREAKS ? s->n_bytes : 0;
}

static const struct {
    const char *word, *most;
} things[] = {
#define THING(thing, word, most) [thing] = {(word), (most)},
    SIZE_LIMIT_THINGS(THING)
#undef THING
};

void size_limit_words(char words[SIZE_LIMIT_WORDS], enum size_limit_thing thing, uint64_t n_bytes)
{
    snprintf(words, SIZE_LIMIT_WORDS, "its %s of %" PRIu64 " bytes is more than %s", things[thing].word, n_bytes,
             things[thing].most);
}

void size_limit_line(char line[SIZE_LIMIT_LINE], const char *process, const char *words)
{
    snprintf(line, SIZE_LIMIT_LINE, "%s: %s; it fails, group %s", process, words, FAILURE_GROUP_TOO_LARGE);
}

void size_limit_aside(char line[SIZE_LIMIT_LINE], const char *process, const struct script_leased_one *one)
{
    const char *job = one->job ? one->job : "";
    char words[SIZE_LIMIT_WORDS];
    size_limit_words(words, one->job ? LARGE_RECORD_TAKEN : LARGE_TASK_TAKEN, script_leased_bytes(one));
    snprintf(line, SIZE_LIMIT_LINE, "%s%s%s%s: %s; it goes back to the queue", *job ? "the job '" : "", job,
             *job ? "', " : "", process, words);
}

void size_limit_job(char words[SIZE_LIMIT_JOB], const char *id, const struct job_too_big *job)
{
    char limit[40] = "";
    if (job->limit > 0)
        snprintf(limit, sizeof limit, " of %" PRIu64, job->limit);
    snprintf(words, SIZE_LIMIT_JOB,
             "the job '%s' has %" PRIu64 " bytes of data and result, and this Redis closes the connection rather than "
             "send them (its client-output-buffer-limit for normal clients%s): raise that, or read only their "
             "beginning (muster job --head, muster_job_peek())",
             id, job->n_bytes, limit);
}
