/* SPDX-License-Identifier: MIT
 *
 * Takes the terminal by ncurses. Every text goes through top_screen_put(), which lets nothing through that steers.
 */
#define NCURSES_WIDECHAR 1
#include "top_screen.h"

#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#undef columns /* term.h has the words as macros */
#undef lines
#include <unistd.h>

#include "complain.h"
#include "need.h"
#include "text.h"
#include "top_text.h"

#define ESCAPE_MS 25

static SCREEN *screen;
static bool has_color;

/* Can the cursor be moved on such a terminal? */
static bool is_known_terminal(void)
{
    int err;
    if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
        return false;
    const char *move = tigetstr("cup"), *clear = tigetstr("clear");
    bool is_known = move && move != (char *)-1 && clear && clear != (char *)-1;
    del_curterm(cur_term);
    return is_known;
}

static int refuse_terminal(const struct call *call)
{
    const char *name = getenv("TERM");
    char *shown = text_printable(name ? name : "", name ? strlen(name) : 0, 40);
    complain_refusal(call, COMPLAIN_SYSTEM,
                     "a terminal of the kind TERM=\"%s\" is not known here, or has no cursor; "
                     "set TERM to its kind, as TERM=xterm",
                     shown);
    free(shown);
    return EXIT_FAILED;
}

static void set_colors(void)
{
    const char *no_color = getenv("NO_COLOR");
    has_color = has_colors() && !(no_color && *no_color);
    if (!has_color)
        return;
    start_color();
    use_default_colors();
    init_pair(TOP_MARKED, COLOR_YELLOW, -1);
    init_pair(TOP_TROUBLE, COLOR_RED, -1);
}

int top_screen_begin(const struct call *call)
{
    setlocale(LC_CTYPE, "");
    if (!is_known_terminal())
        return refuse_terminal(call);
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return refuse_terminal(call);
    atexit(top_screen_end);
    set_escdelay(ESCAPE_MS);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_colors();
    return EXIT_DONE;
}

void top_screen_end(void)
{
    if (!screen)
        return;
    curs_set(1);
    endwin();
    delscreen(screen);
    screen = NULL;
}

void top_screen_size(size_t *lines, size_t *columns)
{
    int y, x;
    getmaxyx(stdscr, y, x);
    *lines = y > 0 ? (size_t)y : 1;
    *columns = x > 0 ? (size_t)x : 1;
}

void top_screen_clear(void)
{
    erase();
}

static attr_t attributes_of(enum top_style style)
{
    static const attr_t attributes[] = {[TOP_PLAIN] = A_NORMAL,
                                        [TOP_BOLD] = A_BOLD,
                                        [TOP_CHOSEN] = A_REVERSE,
                                        [TOP_MARKED] = A_NORMAL,
                                        [TOP_TROUBLE] = A_BOLD};
    return attributes[style];
}

void top_screen_put(size_t line, size_t column, const char *text, size_t width, enum top_style style)
{
    size_t lines, columns;
    top_screen_size(&lines, &columns);
    if (line >= lines || column >= columns)
        return;
    width = width < columns - column ? width : columns - column;
    size_t n = strlen(text);
    wchar_t *shown = need(calloc(n + 1, sizeof *shown));
    size_t used = top_text_fit(shown, n, text, width);
    attr_set(attributes_of(style), has_color && style >= TOP_MARKED ? style : 0, NULL);
    mvaddwstr((int)line, (int)column, shown);
    for (; used < width; used++)
        mvaddwstr((int)line, (int)(column + used), L" ");
    attr_set(A_NORMAL, 0, NULL);
    free(shown);
}

void top_screen_show(int line, int column)
{
    curs_set(line >= 0);
    move(line < 0 ? LINES - 1 : line, line < 0 ? 0 : column);
    refresh();
}

/* ---- keys ---- */

static int function_key(wint_t key)
{
    static const struct {
        wint_t key;
        int is;
    } keys[] = {
        {KEY_UP, TOP_KEY_UP},           {KEY_DOWN, TOP_KEY_DOWN},      {KEY_PPAGE, TOP_KEY_PAGE_UP},
        {KEY_NPAGE, TOP_KEY_PAGE_DOWN}, {KEY_HOME, TOP_KEY_HOME},      {KEY_END, TOP_KEY_END},
        {KEY_ENTER, TOP_KEY_ENTER},     {KEY_BACKSPACE, TOP_KEY_BACK}, {KEY_RESIZE, TOP_KEY_RESIZE},
        {KEY_LEFT, TOP_KEY_LEFT},       {KEY_RIGHT, TOP_KEY_RIGHT},    {KEY_FIND, TOP_KEY_HOME},
        {KEY_SELECT, TOP_KEY_END},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].key == key)
            return keys[i].is;
    return TOP_KEY_OTHER;
}

int top_screen_key(void)
{
    wint_t key;
    int kind = get_wch(&key);
    if (kind == ERR)
        return TOP_KEY_NONE;
    if (kind == KEY_CODE_YES)
        return function_key(key);
    if (key == '\r' || key == '\n')
        return TOP_KEY_ENTER;
    return key == 127 || key == '\b' ? TOP_KEY_BACK : key == 0 ? TOP_KEY_OTHER : (int)key;
}
