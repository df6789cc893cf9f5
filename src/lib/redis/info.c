/* SPDX-License-Identifier: MIT
 *
 * Finds a line by its whole name at the line's beginning, so that no name is found inside another.
 */
#include "redis/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool info_text(const char *info, const char *name, char out[INFO_VALUE_SIZE])
{
    size_t len = strlen(name);
    for (const char *line = info; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ':')
            continue;
        snprintf(out, INFO_VALUE_SIZE, "%.*s", (int)strcspn(line + len + 1, "\r\n"), line + len + 1);
        return true;
    }
    out[0] = '\0';
    return false;
}

int64_t info_number(const char *info, const char *name)
{
    char text[INFO_VALUE_SIZE];
    return info_text(info, name, text) ? strtoll(text, NULL, 10) : 0;
}

bool info_is(const char *info, const char *name, const char *value)
{
    char text[INFO_VALUE_SIZE];
    return info_text(info, name, text) && strcmp(text, value) == 0;
}
