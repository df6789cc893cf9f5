/* SPDX-License-Identifier: MIT
 *
 * The part of a check that looks at what came back to its queue, at the homes where it lies, and at suspects.
 */
#include <stdio.h>
#include <string.h>

#include "client/check.h"
#include "client/page.h"

static int check_home(struct check *k, size_t at)
{
    struct command command = COMMAND_EMPTY;
    struct script_checked checked;
    char home[TOKEN_LEN + 1];
    const char *name = k->homes.at[at].text;
    size_t len = strcspn(name, ":");
    snprintf(home, sizeof home, "%.*s", (int)len, name);
    script_check_home(&command, &k->client->root, k->repair, home, name + len + 1);
    return check_run(k, &command, &checked);
}

static int check_returned(struct check *k, size_t at)
{
    const char *queue = k->back.at[at].text;
    struct script_checked checked = {.next = 0};
    int err = MUSTER_OK;
    while (err == MUSTER_OK && checked.next >= 0 && !k->stop) {
        struct command command = COMMAND_EMPTY;
        script_check_returned(&command, &k->client->root, k->repair, queue, checked.next);
        err = check_run_page(k, &command, &checked);
    }
    return err;
}

static void begin_suspects(struct check *k, struct command *command, const char *queue)
{
    script_check_suspects(command, &k->client->root, k->repair, queue);
}

static int check_suspects_of(struct check *k, size_t at)
{
    return check_entries(k, KEY_SUSPECTS, k->suspects.at[at].text, begin_suspects);
}

int check_back(struct check *k)
{
    int err = check_each(k, &k->homes, 1, check_home);
    if (err == MUSTER_OK)
        err = check_each(k, &k->back, 1, check_returned);
    return err == MUSTER_OK ? check_each(k, &k->suspects, 1, check_suspects_of) : err;
}
