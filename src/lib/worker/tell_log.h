/* SPDX-License-Identifier: MIT
 *
 * Events as warnings, for a program that has no callback for them.
 */
#ifndef TELL_LOG_H
#define TELL_LOG_H

#include <muster/worker.h>
#include <stdbool.h>

#define TELL_LOG_KINDS (MUSTER_EVENT_LEFT_OUT + 1)

/*
 *   last         by event: when its last line was written (0: never), and how many were left out since then
 *   is_down_said the line about an outage was written, and none about its end
 */
struct tell_log {
    struct {
        int64_t said_at_ms;
        uint64_t left_out;
    } last[TELL_LOG_KINDS];
    bool is_down_said;
    int down_err; /* the reason that was said */
    char down_text[200];
};

void tell_log_event(struct muster_worker *w, const struct muster_event *e);

#endif
