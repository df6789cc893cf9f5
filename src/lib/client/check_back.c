/* SPDX-License-Identifier: MIT
 *
 * The part of a check that looks at what came back to its queue, at the homes where it lies, and at suspects.
 */
#include <stdio.h>
#include <string.h>

#include "client/check.h"
#include "client/page.h"

static int check_homes(struct check *k)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < k->homes.n && !k->stop; i++) {
        struct command command = COMMAND_EMPTY;
        struct script_checked checked;
        char home[TOKEN_LEN + 1];
        const char *name = k->homes.at[i].text;
        size_t len = strcspn(name, ":");
        snprintf(home, sizeof home, "%.*s", (int)len, name);
        script_check_home(&command, &k->client->root, k->repair, home, name + len + 1);
        err = check_run(k, &command, &checked);
    }
    return err;
}

static int check_returned(struct check *k, const char *queue)
{
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

int check_back(struct check *k)
{
    int err = check_homes(k);
    for (size_t i = 0; err == MUSTER_OK && i < k->back.n && !k->stop; i++)
        err = check_returned(k, k->back.at[i].text);
    for (size_t i = 0; err == MUSTER_OK && i < k->suspects.n && !k->stop; i++)
        err = check_entries(k, KEY_SUSPECTS, k->suspects.at[i].text, begin_suspects);
    return err;
}
