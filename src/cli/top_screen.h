/* SPDX-License-Identifier: MIT
 *
 * The terminal of `muster top`: the only place that calls ncurses. By one thread only.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "command.h"

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_CHOSEN, TOP_MARKED, TOP_TROUBLE };

/* Take the terminal. Returns EXIT_DONE, or another exit code after a line about what is wrong. */
int top_screen_begin(const struct call *call);

/* Give it back as it was. It is given back at the end of the program, too, however that comes. */
void top_screen_end(void);

void top_screen_size(size_t *lines, size_t *columns);

/* What is drawn is seen with top_screen_show(); `line` and `column`: where the cursor is seen, below 0: nowhere. */
void top_screen_clear(void);
void top_screen_put(size_t line, size_t column, const char *text, size_t width, enum top_style style);
void top_screen_show(int line, int column);

/* A character, one of these, or TOP_KEY_NONE: no key was pressed. Never waits. */
enum {
    TOP_KEY_NONE = 0,
    TOP_KEY_OTHER = -1,
    TOP_KEY_UP = -2,
    TOP_KEY_DOWN = -3,
    TOP_KEY_PAGE_UP = -4,
    TOP_KEY_PAGE_DOWN = -5,
    TOP_KEY_HOME = -6,
    TOP_KEY_END = -7,
    TOP_KEY_ENTER = -8,
    TOP_KEY_BACK = -9,
    TOP_KEY_RESIZE = -10,
    TOP_KEY_LEFT = -11,
    TOP_KEY_RIGHT = -12
};
#define TOP_KEY_ESCAPE 27
int top_screen_key(void);

#endif
