/* SPDX-License-Identifier: MIT
 *
 * Decides which names are allowed. No other file does.
 */
#include "protocol/names.h"

#include <muster/job.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

bool names_have_control(const char *text)
{
    for (; *text; text++)
        if (is_control((unsigned char)*text))
            return true;
    return false;
}

static bool is_id_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

const char *muster_queue_check(const char *name)
{
    if (!name || !*name)
        return "a queue's name must not be empty";
    if (strlen(name) > MUSTER_QUEUE_MAX)
        return "a queue's name has at most 200 bytes";
    return names_have_control(name) ? "a queue's name must not hold control characters" : NULL;
}

const char *muster_job_id_check(const char *id)
{
    if (!id || !*id)
        return "a job's id must not be empty";
    if (strlen(id) > MUSTER_JOB_ID_MAX)
        return "a job's id has at most 200 bytes";
    return names_have_control(id) ? "a job's id must not hold control characters" : NULL;
}

const char *muster_tag_check(const char *tag)
{
    if (!tag || !*tag)
        return "a tag must not be empty";
    if (strlen(tag) > MUSTER_TAG_MAX)
        return "a tag has at most 200 bytes";
    return names_have_control(tag) ? "a tag must not hold control characters" : NULL;
}

const char *muster_job_key_check(const char *key)
{
    if (!key || !*key)
        return "a job's key must not be empty";
    if (strlen(key) > MUSTER_JOB_KEY_MAX)
        return "a job's key has at most 200 bytes";
    return names_have_control(key) ? "a job's key must not hold control characters" : NULL;
}

const char *muster_worker_id_check(const char *id)
{
    if (!id || !*id)
        return "a worker's id must not be empty";
    if (strlen(id) > MUSTER_WORKER_ID_MAX)
        return "a worker's id has at most 64 bytes";
    if (*id == '.')
        return "a worker's id must not begin with a dot";
    for (const char *c = id; *c; c++)
        if (!is_id_byte((unsigned char)*c))
            return "a worker's id may hold letters, digits, '.', '_' and '-' only";
    return NULL;
}

const char *muster_prefix_check(const char *prefix)
{
    if (!prefix || !*prefix)
        return "a prefix must not be empty";
    if (strlen(prefix) > MUSTER_PREFIX_MAX)
        return "a prefix has at most 64 bytes";
    if (*prefix == '.')
        return "a prefix must not begin with a dot";
    for (const char *c = prefix; *c; c++)
        if (!is_id_byte((unsigned char)*c) && *c != '{' && *c != '}')
            return "a prefix may hold letters, digits, '.', '_', '-', '{' and '}' only";
    return NULL;
}

int names_check_failure(const char *group, const char *message, const char **why)
{
    *why = NULL;
    if (message && strlen(message) > MUSTER_MESSAGE_MAX)
        *why = "a failure's message has at most 64 KiB";
    else if (group && strlen(group) > MUSTER_GROUP_MAX)
        *why = "a failure's group has at most 200 bytes";
    if (*why)
        return MUSTER_E_TOO_BIG;
    if (group && muster_queue_check(group)) /* the rule is that of a queue's name */
        *why = "a failure's group has 1 to 200 bytes and no control characters";
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

char *names_join(const char *const *names, size_t n)
{
    size_t size = 1;
    for (size_t i = 0; i < n; i++)
        size += strlen(names[i]) + 1;
    char *joined = malloc(size), *at = joined;
    for (size_t i = 0; joined && i < n; i++) {
        at = stpcpy(at, names[i]);
        *at++ = '\n';
    }
    if (joined)
        *at = '\0';
    return joined;
}

/* An empty variable counts as none. */
static const char *prefix_of_environment(void)
{
    const char *prefix = secure_getenv("MUSTER_PREFIX");
    return prefix && *prefix ? prefix : NULL;
}

const char *names_prefix(const char *given)
{
    const char *prefix = given ? given : prefix_of_environment();
    return prefix ? prefix : "muster";
}

const char *names_check_prefix_option(const char *given)
{
    const char *prefix = names_prefix(given), *why = muster_prefix_check(prefix);
    return why ? words_say("%s is '%.100s': %s", given ? "prefix" : "MUSTER_PREFIX", prefix, why) : NULL;
}

int names_check_task(const struct muster_bytes *task, size_t max_len, const char **why)
{
    if (task->len > max_len) {
        *why = words_say("a task of %zu bytes is over the limit of %zu; nothing was sent", task->len, max_len);
        return MUSTER_E_TOO_BIG;
    }
    if (task->data || task->len == 0)
        return MUSTER_OK;
    *why = "a task has a length but no bytes; nothing was sent";
    return MUSTER_E_INVALID;
}
