/* SPDX-License-Identifier: MIT
 *
 * A ring of steps. They are single floats, because a thousand queues have one each.
 */
#include "history.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "need.h"

#define SPAN_MS ((int64_t)3600 * 1000)

struct history {
    int64_t step_ms, last; /* number of the last step, since 1970 */
    size_t n;              /* steps in the ring */
    float figures[][HISTORY_N];
};

struct history *history_new(int64_t step_ms)
{
    size_t n = (size_t)(SPAN_MS / step_ms);
    struct history *h = need(calloc(1, sizeof *h + n * sizeof h->figures[0]));
    h->step_ms = step_ms;
    h->n = n;
    return h;
}

void history_free(struct history *h)
{
    free(h);
}

static float *step_at(struct history *h, int64_t step)
{
    return h->figures[(uint64_t)step % h->n];
}

static void forget(struct history *h, int64_t until)
{
    int64_t from = h->last + 1;
    if (until - from > (int64_t)h->n)
        from = until - (int64_t)h->n;
    for (int64_t step = from; step <= until; step++)
        for (int i = 0; i < HISTORY_N; i++)
            step_at(h, step)[i] = NAN;
}

void history_add(struct history *h, int64_t at_ms, const double figures[HISTORY_N])
{
    int64_t step = at_ms / h->step_ms;
    if (step < h->last) /* the clock was set back: what was kept would be in the future */
        h->last = 0;
    if (step > h->last)
        forget(h, step);
    h->last = step;
    float *kept = step_at(h, step), before = kept[HISTORY_failures];
    for (int i = 0; i < HISTORY_N; i++)
        kept[i] = (float)figures[i];
    if (!isnan(before))
        kept[HISTORY_failures] = isnan(kept[HISTORY_failures]) ? before : before + kept[HISTORY_failures];
}

static cJSON *series_json(const struct history *h, int series, int64_t from)
{
    cJSON *array = need(cJSON_CreateArray());
    for (int64_t step = from; step <= h->last; step++) {
        float figure = step_at((struct history *)h, step)[series];
        cJSON *item = isnan(figure) ? cJSON_CreateNull() : cJSON_CreateNumber((double)figure);
        if (!cJSON_AddItemToArray(array, need(item)))
            need(NULL);
    }
    return array;
}

cJSON *history_json(const struct history *h, int64_t since_ms)
{
    static const char *const names[] = {
#define HISTORY_NAME(name) #name,
        HISTORY_SERIES(HISTORY_NAME)
#undef HISTORY_NAME
    };
    int64_t from = h->last - (int64_t)h->n + 1, since = since_ms / h->step_ms;
    from = since > from ? since : from;
    from = h->last == 0 ? 1 : from; /* nothing was added yet */
    cJSON *object = need(cJSON_CreateObject()), *series;
    need(cJSON_AddNumberToObject(object, "step_ms", (double)h->step_ms));
    need(cJSON_AddNumberToObject(object, "from", (double)(from * h->step_ms)));
    series = need(cJSON_AddObjectToObject(object, "series"));
    for (int i = 0; i < HISTORY_N; i++)
        if (!cJSON_AddItemToObject(series, names[i], series_json(h, i, from)))
            need(NULL);
    return object;
}
