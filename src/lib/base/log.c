/* SPDX-License-Identifier: MIT
 *
 * The log's sink, which is the library's only global, and the classes of MUSTER_TRACE.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/words.h"

#define LINE_MAX_LEN 1024
#define TRACES_UNREAD (-1)

static void default_sink(enum muster_log_level level, const char *line, void *arg);

static muster_log_fn *sink = default_sink;
static void *sink_arg;

/* One bit per class. The environment is read once; threads that race for it read the same. */
static atomic_int traces = TRACES_UNREAD;

static const char *const trace_names[TRACE_COUNT] = {
#define TRACE_NAME(name) #name,
    MUSTER_TRACES(TRACE_NAME)
#undef TRACE_NAME
};

/* The bit of a class; 0 if there is none of this name. */
static int bit_of(const char *name, size_t len)
{
    for (int i = 0; i < TRACE_COUNT; i++)
        if (strlen(trace_names[i]) == len && memcmp(trace_names[i], name, len) == 0)
            return 1 << i;
    return 0;
}

#define TRACE_LISTED(name) " " #name

static int read_traces(void)
{
    static atomic_flag was_told = ATOMIC_FLAG_INIT;
    int bits = 0;
    const char *wanted = getenv("MUSTER_TRACE");
    while (wanted && *wanted) {
        size_t len = strcspn(wanted, ",");
        int bit = bit_of(wanted, len);
        if (!bit && len > 0 && !atomic_flag_test_and_set(&was_told))
            log_line(MUSTER_LOG_WARN,
                     "muster: MUSTER_TRACE has an unknown class, which traces nothing; the classes are:%s",
                     MUSTER_TRACES(TRACE_LISTED));
        bits |= bit;
        wanted += len + (wanted[len] == ',');
    }
    return bits;
}

static int trace_bits(void)
{
    int bits = atomic_load_explicit(&traces, memory_order_relaxed);
    if (bits == TRACES_UNREAD) {
        bits = read_traces();
        atomic_store_explicit(&traces, bits, memory_order_relaxed);
    }
    return bits;
}

static void default_sink(enum muster_log_level level, const char *line, void *arg)
{
    (void)arg;
    if (level <= MUSTER_LOG_WARN || (level == MUSTER_LOG_DEBUG && trace_bits()))
        fprintf(stderr, "%s\n", line);
}

void muster_log_silent(enum muster_log_level level, const char *line, void *arg)
{
    (void)level, (void)line, (void)arg;
}

void muster_log_set(muster_log_fn *fn, void *arg)
{
    sink = fn ? fn : default_sink;
    sink_arg = fn ? arg : NULL;
}

void log_line(enum muster_log_level level, const char *format, ...)
{
    char line[LINE_MAX_LEN];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    words_clean(line);
    sink(level, line, sink_arg);
}

bool trace_is_on(enum trace_class class)
{
    return trace_bits() >> class & 1;
}

void trace_line(enum trace_class class, const char *format, ...)
{
    if (!trace_is_on(class))
        return;
    char line[LINE_MAX_LEN];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    size_t len = strftime(line, sizeof line, "%H:%M:%S", &tm);
    len += (size_t)snprintf(line + len, sizeof line - len, ".%06ld %-6s ", now.tv_nsec / 1000, trace_names[class]);
    va_list args;
    va_start(args, format);
    vsnprintf(line + len, sizeof line - len, format, args);
    va_end(args);
    words_clean(line);
    sink(MUSTER_LOG_DEBUG, line, sink_arg);
}
