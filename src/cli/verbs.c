/* SPDX-License-Identifier: MIT
 *
 * The table of verbs.
 */
#include "verbs.h"

#include <stdio.h>
#include <string.h>

#define VERB_ROW(name) &cmd_##name,
const struct command *const verbs_all[] = {VERBS(VERB_ROW) NULL};
#undef VERB_ROW

const struct command *verbs_find(const char *name)
{
    for (size_t i = 0; verbs_all[i]; i++)
        if (strcmp(verbs_all[i]->name, name) == 0)
            return verbs_all[i];
    fprintf(stderr, "muster: there is no command '%s'; see `muster help`\n", name);
    return NULL;
}
