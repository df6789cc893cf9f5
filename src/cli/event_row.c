/* SPDX-License-Identifier: MIT
 *
 * Which fields of an event of jobs are shown.
 */
#include "event_row.h"

#include "out.h"

int event_row_print(const struct muster_job_event *event)
{
    static const struct out_column columns[] = {
        {NULL, "at_ms", OUT_TIME},  {NULL, "what", OUT_TEXT}, {NULL, "id", OUT_TEXT},     {NULL, "queue", OUT_TEXT},
        {NULL, "worker", OUT_TEXT}, {NULL, "text", OUT_TEXT}, {NULL, "tracked", OUT_YES}, {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {
        {.number = event->at_ms},
        {.text = event->what},
        {.text = event->id},
        {.text = event->queue},
        {.text = *event->worker ? event->worker : NULL},
        {.text = *event->text ? event->text : NULL},
        {.number = event->tracked},
    };
    return out_json(columns, cells);
}
