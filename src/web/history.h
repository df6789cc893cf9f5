/* SPDX-License-Identifier: MIT
 *
 * Figures of the last hour, in equal steps. A step that nobody looked in has none.
 */
#ifndef WEB_HISTORY_H
#define WEB_HISTORY_H

#include <stdint.h>

/* X(name in the JSON) */
#define HISTORY_SERIES(X) X(waiting) X(running) X(failed) X(in) X(out) X(failures) X(latency_ms)

enum history_series {
#define HISTORY_ENUM(name) HISTORY_##name,
    HISTORY_SERIES(HISTORY_ENUM)
#undef HISTORY_ENUM
        HISTORY_N
};

struct cJSON;
struct history;

struct history *history_new(int64_t step_ms);
void history_free(struct history *h);

/* Figures of a moment; NAN: unknown. Of several in one step the last counts; but `failures`, how many are new since the
 * figures before, are added up. */
void history_add(struct history *h, int64_t at_ms, const double figures[HISTORY_N]);

/* {"step_ms", "from", "series": {...}}, from the step on in which `since_ms` lies: the last step goes on, so whoever has it
 * asks for it again. To be deleted. */
struct cJSON *history_json(const struct history *h, int64_t since_ms);

#endif
