/* SPDX-License-Identifier: MIT */
#include "verbs.h"

#include <stdio.h>
#include <string.h>

#include "testing.h"

size_t verbs_assert_rows(const char *command, bool (*has_row)(const char *verb))
{
    char line[256], verb[32];
    size_t n = 0;
    snprintf(line, sizeof line, "%s help", command);
    FILE *help = popen(line, "r");
    assert_non_null(help);
    while (fgets(line, sizeof line, help) && strncmp(line, "Commands:", 9) != 0)
        ;
    for (; fgets(line, sizeof line, help) && sscanf(line, " %31s", verb) == 1; n++)
        if (!has_row(verb))
            fail_msg("the verb %s has no row here", verb);
    pclose(help);
    return n;
}
