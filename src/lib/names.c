/* SPDX-License-Identifier: MIT
 *
 * Which names are allowed: the public checks, and nothing else decides it.
 */
#include <muster/client.h>
#include <string.h>

static int is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static int is_id_byte(unsigned char c)
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
    for (const char *c = name; *c; c++)
        if (is_control((unsigned char)*c))
            return "a queue's name must not hold control characters";
    return NULL;
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
