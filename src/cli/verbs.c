/* SPDX-License-Identifier: MIT
 *
 * The table of verbs.
 */
#include "verbs.h"

#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "similar.h"
#include "text.h"

#define NAME_COLUMNS 60

#define VERB_ROW(name) &cmd_##name,
const struct command *const verbs_all[] = {VERBS(VERB_ROW) NULL};
#undef VERB_ROW

const struct command *verbs_find(const char *name)
{
    for (size_t i = 0; verbs_all[i]; i++)
        if (strcmp(verbs_all[i]->name, name) == 0)
            return verbs_all[i];
    return NULL;
}

int verbs_refuse(const char *name, bool is_json)
{
    const char *names[sizeof verbs_all / sizeof *verbs_all];
    char message[200], *shown = text_printable(name, strlen(name), NAME_COLUMNS);
    size_t n = 0;
    for (; verbs_all[n]; n++)
        names[n] = verbs_all[n]->name;
    const char *meant = similar_find(name, names, n);
    snprintf(message, sizeof message, "there is no command '%s'%s%s%s; see `muster help`", shown,
             meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    free(shown);
    complain_alone(is_json, muster_err_name(MUSTER_E_INVALID), message);
    return EXIT_USAGE;
}
