/* SPDX-License-Identifier: MIT
 *
 * The log: one sink for the program, and traces by class. A line names workers, queues, tokens and lengths. It must
 * not hold a task's bytes or a password.
 */
#ifndef LOG_H
#define LOG_H

#include <muster/error.h>
#include <stdbool.h>

#define TRACES(X)             \
    X(TRACE_STATE, "state")   \
    X(TRACE_SCRIPT, "script") \
    X(TRACE_WAKE, "wake")

enum trace_class {
#define TRACE_ENUM(name, text) name,
    TRACES(TRACE_ENUM)
#undef TRACE_ENUM
        TRACE_COUNT
};

void log_line(enum muster_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is this class of MUSTER_TRACE on? Ask before building what a trace needs. */
bool trace_is_on(enum trace_class class);
void trace_line(enum trace_class class, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
