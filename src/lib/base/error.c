/* SPDX-License-Identifier: MIT
 *
 * Names and texts of the errors, made from the one list in the public error.h; and the version.
 */
#include <muster/error.h>
#include <muster/version.h>

const char *muster_err_name(int err)
{
    switch (err) {
#define NAME(name, number, text) \
    case number:                 \
        return #name;
        MUSTER_ERRORS(NAME)
#undef NAME
    }
    return "E_UNKNOWN";
}

const char *muster_err_text(int err)
{
    switch (err) {
#define TEXT(name, number, text) \
    case number:                 \
        return text;
        MUSTER_ERRORS(TEXT)
#undef TEXT
    }
    return "unknown error";
}

const char *muster_version(void)
{
    return MUSTER_VERSION;
}
