/* SPDX-License-Identifier: MIT
 *
 * Reads and writes backoffs.
 */
#include "backoff.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define JITTER ",jitter="

static bool read_limit(const char **text, struct muster_backoff *out)
{
    *text += strlen("..");
    out->exponential = 1;
    if (!**text || **text == ',')
        return true;
    return text_read_span(text, &out->max_ms) && out->max_ms > 0 && out->max_ms >= out->delay_ms;
}

static bool read_jitter(const char **text, struct muster_backoff *out)
{
    int64_t percent;
    *text += strlen(JITTER);
    if (!text_read_number(text, &percent) || percent > 100 || **text != '%')
        return false;
    out->jitter_percent = (int)percent;
    ++*text;
    return true;
}

bool backoff_read(const char *text, struct muster_backoff *out)
{
    *out = (struct muster_backoff){.delay_ms = 0};
    if (!text_read_span(&text, &out->delay_ms))
        return false;
    if (strncmp(text, "..", 2) == 0 && !read_limit(&text, out))
        return false;
    if (strncmp(text, JITTER, strlen(JITTER)) == 0 && !read_jitter(&text, out))
        return false;
    return !*text && out->delay_ms <= MUSTER_JOB_MS_MAX && out->max_ms <= MUSTER_JOB_MS_MAX;
}

const char *backoff_check(const char *text)
{
    struct muster_backoff backoff;
    return backoff_read(text, &backoff)
               ? NULL
               : "it must be 10s, 10s..1h (the longer one last) or 10s.., at most ten years, with or without "
                 ",jitter=20% after it";
}

const char *backoff_text(char out[BACKOFF_TEXT_SIZE], const struct muster_backoff *backoff)
{
    char delay[TEXT_SPAN_SIZE], max[TEXT_SPAN_SIZE] = "";
    if (backoff->exponential && backoff->max_ms > 0)
        text_span(max, backoff->max_ms);
    int len = snprintf(out, BACKOFF_TEXT_SIZE, "%s%s%s", text_span(delay, backoff->delay_ms),
                       backoff->exponential ? ".." : "", max);
    if (backoff->jitter_percent > 0)
        snprintf(out + len, BACKOFF_TEXT_SIZE - (size_t)len, JITTER "%d%%", backoff->jitter_percent);
    return out;
}
