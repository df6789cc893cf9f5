/* SPDX-License-Identifier: MIT
 *
 * `muster work --status`: where it is served, who may ask, and its begin and end.
 */
#ifndef CLI_WORK_STATUS_H
#define CLI_WORK_STATUS_H

#include "command.h"
#include "web/status.h"

struct work_status {
    struct status_options options;
    char *host, *token;
    struct status *status; /* NULL: there is none */
};

/* A `check` for --status. */
const char *work_status_check(const char *text);

/* Read the options, of which `place` and `token_file` are the values. Returns an exit code, after a line about what is
 * wrong. */
int work_status_read(struct work_status *w, const struct call *call, const struct opt_value *place,
                     const struct opt *token_option, const struct opt_value *token_file);

/* Serve, if it was asked for. Returns an exit code, after a line about what is wrong. */
int work_status_begin(struct work_status *w, const struct muster_worker *worker);
void work_status_end(struct work_status *w);

#endif
