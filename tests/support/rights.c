/* SPDX-License-Identifier: MIT
 *
 * The rules are read from the file that users load.
 */
#include "rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE "muster"

const char *const rights_roles[] = {"producer", "worker", "viewer", "operator", NAMESPACE, NULL};

/* Patterns of keys and channels begin with the namespace. */
static void add_word(struct rights *r, const char *word, const char *prefix)
{
    const char *name = strchr("~&%", *word) ? strstr(word, NAMESPACE) : NULL;
    assert_true(r->n < RIGHTS_MAX);
    char *to = r->words[r->n++];
    if (name)
        snprintf(to, sizeof r->words[0], "%.*s%s%s", (int)(name - word), word, prefix, name + strlen(NAMESPACE));
    else
        snprintf(to, sizeof r->words[0], "%s", word);
}

void rights_read(struct rights *r, const char *role, const char *prefix)
{
    char line[2048], name[32], *rest;
    FILE *f = fopen(MUSTER_USERS, "r");
    assert_non_null(f);
    *r = (struct rights){.n = 0};
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "user %31s on ", name) == 1 && strcmp(name, role) == 0)
            for (char *w = strtok_r(strstr(line, " on ") + 4, " \n", &rest); w; w = strtok_r(NULL, " \n", &rest))
                add_word(r, w, prefix);
    fclose(f);
    if (r->n == 0)
        fail_msg("no rule of %s in " MUSTER_USERS, role);
}

void rights_give(struct scene *s, const char *user, const struct rights *r, const char *less)
{
    const char *argv[RIGHTS_MAX + 8] = {"ACL", "SETUSER", user, "reset", "on", ">pw"};
    int argc = 6;
    for (size_t i = 0; i < r->n; i++)
        if (!less || strcmp(less, r->words[i]) != 0)
            argv[argc++] = r->words[i];
    redisReply *reply = redisCommandArgv(s->server->redis, argc, argv, NULL);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", user, reply->str);
    freeReplyObject(reply);
}

void rights_url(struct scene *s, const char *user, char out[160])
{
    snprintf(out, 160, "unix://%s:pw@%s", user, s->server->socket);
}

struct muster_client *rights_client(struct scene *s, const char *user)
{
    char url[160];
    struct muster_client *c;
    rights_url(s, user, url);
    const struct muster_client_options o = {.size = sizeof o, .url = url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    return c;
}
