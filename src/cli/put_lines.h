/* SPDX-License-Identifier: MIT
 *
 * muster put with a job a line of standard input.
 */
#ifndef CLI_PUT_LINES_H
#define CLI_PUT_LINES_H

#include <muster/job.h>

#include "command.h"

/* A spec that a call's options say, and what it points to. */
struct put_spec {
    struct muster_job_spec spec;
    struct muster_backoff backoff;
};

/* Of cmd_put.c: do the options fit together? EXIT_DONE, or EXIT_USAGE after a line that says what is wrong. */
int put_check_options(const struct call *call);
/* Make the spec that they say, with this data. `out` is valid as long as the call is. */
void put_read_spec(const struct call *call, struct muster_bytes data, struct put_spec *out);
/* Print a job's id. */
void put_print(const struct call *call, const char *id);

enum put_lines_kind { PUT_LINES_DATA, PUT_LINES_JSON };

/*
 * Put a job for each line: its data, with the options of the call for all of them; or its spec, an object of JSON. The
 * ids are printed in the order of the lines, those of each batch as soon as it is put. It ends at the first line that is
 * refused, and says which one, why, and how many jobs were put. `request`, NULL: none: all lines are read first, and sent
 * as one request. Returns the exit code.
 */
int put_lines(const struct call *call, enum put_lines_kind kind, const char *request);

#endif
