/* SPDX-License-Identifier: MIT
 *
 * The table of keys.
 */
#include "top_keys.h"

#include "top_screen.h"

const struct top_key top_keys[] = {
    {{'q'}, TOP_DO_QUIT, "q, Ctrl-C", "quit", "quit"},
    {{'?', 'h'}, TOP_DO_HELP, "?, h", "this help; any key leaves it", "help"},
    {{'\t'}, TOP_DO_NEXT_VIEW, "Tab", "the next view", NULL},
    {{'1'}, TOP_DO_QUEUES, "1", "queues", NULL},
    {{'2'}, TOP_DO_WORKERS, "2", "workers", NULL},
    {{'3'}, TOP_DO_PROCESSES, "3", "processes: the running tasks", NULL},
    {{TOP_KEY_ENTER}, TOP_DO_ENTER, "Enter", "on a queue: its running tasks", NULL},
    {{TOP_KEY_UP, 'k'}, TOP_DO_UP, "Up, k", "the row above", NULL},
    {{TOP_KEY_DOWN, 'j'}, TOP_DO_DOWN, "Down, j", "the row below", NULL},
    {{TOP_KEY_PAGE_UP}, TOP_DO_PAGE_UP, "PgUp", "a page up", NULL},
    {{TOP_KEY_PAGE_DOWN}, TOP_DO_PAGE_DOWN, "PgDn", "a page down", NULL},
    {{TOP_KEY_HOME, 'g'}, TOP_DO_FIRST, "Home, g", "the first row", NULL},
    {{TOP_KEY_END, 'G'}, TOP_DO_LAST, "End, G", "the last row", NULL},
    {{'s', '>', TOP_KEY_RIGHT}, TOP_DO_SORT_NEXT, "s, >, Right", "sort by the next column", "sort"},
    {{'<', TOP_KEY_LEFT}, TOP_DO_SORT_BEFORE, "<, Left", "sort by the column before", NULL},
    {{'r'}, TOP_DO_REVERSE, "r", "reverse the order", "reverse"},
    {{'/'}, TOP_DO_FILTER, "/", "only rows with these letters, as you type; Enter keeps it", "filter"},
    {{TOP_KEY_ESCAPE}, TOP_DO_CLEAR, "Esc", "all rows again; all queues again", NULL},
    {{'p'}, TOP_DO_PAUSE, "p", "pause the queue, or resume it; asks first", "pause"},
    {{'c'}, TOP_DO_CANCEL, "c", "cancel the process; asks first", "cancel"},
};
const size_t top_keys_n = sizeof top_keys / sizeof *top_keys;

enum top_deed top_keys_find(int key)
{
    for (size_t i = 0; i < top_keys_n; i++)
        for (size_t k = 0; k < sizeof top_keys[i].keys / sizeof *top_keys[i].keys; k++)
            if (top_keys[i].keys[k] == key && key != 0)
                return top_keys[i].deed;
    return TOP_DO_NOTHING;
}

bool top_keys_is_action(enum top_deed deed)
{
    return deed == TOP_DO_PAUSE || deed == TOP_DO_CANCEL;
}
