/* SPDX-License-Identifier: MIT
 *
 * The log: one sink for the program, and traces by class. A line names workers, queues, tokens and lengths. It must
 * not hold a task's bytes or a password.
 */
#ifndef LOG_H
#define LOG_H

#include <muster/error.h>
#include <stdbool.h>

/* In the order of MUSTER_TRACES. */
enum trace_class { TRACE_STATE, TRACE_SCRIPT, TRACE_WAKE, TRACE_COUNT };

void log_line(enum muster_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is this class of MUSTER_TRACE on? Ask before building what a trace needs. */
bool trace_is_on(enum trace_class class);
void trace_line(enum trace_class class, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
