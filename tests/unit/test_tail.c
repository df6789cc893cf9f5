/* SPDX-License-Identifier: MIT
 *
 * The end of what a program has printed: its last lines, as words that may be shown anywhere.
 */
#include "base/tail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

/* What is left of `text`, which was added in pieces of `piece` bytes. */
static void assert_words(const char *text, size_t len, size_t piece, const char *words)
{
    struct tail *tail = calloc(1, sizeof *tail);
    char out[TAIL_TEXT_MAX + 1];
    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        char *exact = malloc(n);
        memcpy(exact, text + at, n);
        tail_add(tail, exact, n);
        free(exact);
    }
    assert_int_equal(tail_words(tail, out), strlen(words));
    assert_string_equal(out, words);
    free(tail);
}

static void nothing_but_words_is_left(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", ""},
        {"\n \n", ""},
        {"one line\n", "one line"},
        {"one\r\ntwo\r\n\r\nthree", "one\ntwo\nthree"},
        {"10%\r20%\rdone\n", "10%\n20%\ndone"},
        {"\033[31mred\033[0m and \033[1;2Hthere", "red and there"},
        {"\033]0;title\atext", "text"},
        {"\033]0;title\033\\text", "text"},
        {"\033Mup", "up"},
        {"\033(B\033[mplain\033(0 and \033#8\033%Gwide", "plain and wide"},
        {"\033]8;;http://h\033\\link\033]8;;\033\\ \033P1$r0m\033\\\033_an app\033\\\033^private\033\\x", "link x"},
        {"\033]0;no end\nnext\033[3\nline\033\nlast", "next\nline\nlast"},
        {"\033]0;title\033[31mred\033[\033[0m\033\033Mup", "redup"},
        {"cut off\033", "cut off"},
        {"cut off\033[3", "cut off"},
        {"cut off\033]0;ti", "cut off"},
        {"a\tb\001c\177d", "a b?c?d"},
        {"gr\303\274\303\237e \342\202\254 \360\237\230\200", "gr\303\274\303\237e \342\202\254 \360\237\230\200"},
        {"\377\303 \302\233x \355\240\200 \300\200 \340\200\200 \364\220\200\200 \303", "?? ??x ??? ?? ??? ???? ?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_words(cases[i].text, strlen(cases[i].text), 1, cases[i].words);
        assert_words(cases[i].text, strlen(cases[i].text), 100, cases[i].words);
    }
    assert_words("a\0b", 3, 1, "a?b");
}

static void of_many_lines_the_last_whole_ones_are_left(void **state)
{
    char text[20000], *to = text;
    (void)state;
    for (int i = 0; i < 1000; i++)
        to += sprintf(to, "line %03d\n", i);
    for (size_t piece = 1; piece < 5000; piece = piece * 3 + 1) {
        const char *first = text + (1000 - 113) * 9; /* 113 lines of 9 bytes fit */
        char want[TAIL_TEXT_MAX + 1];
        size_t n = (size_t)(to - 1 - first);
        memcpy(want, first, n);
        want[n] = '\0';
        assert_words(text, (size_t)(to - text), piece, want);
    }
}

static void of_a_line_that_is_too_long_the_end_is_left(void **state)
{
    char text[6001], want[TAIL_TEXT_MAX + 1];
    (void)state;
    for (size_t i = 0; i < 3000; i++)
        memcpy(text + 2 * i, "\303\274", 3);
    memcpy(want, text, TAIL_TEXT_MAX);
    want[TAIL_TEXT_MAX] = '\0';
    for (size_t piece = 1; piece < 7000; piece = piece * 3 + 1)
        assert_words(text, 6000, piece, want);
    text[6000] = 'x'; /* half a character is where the words would begin */
    memcpy(want + TAIL_TEXT_MAX - 2, "x", 2);
    assert_words(text, 6001, 6001, want);
    memset(text, 'x', 6000);
    text[0] = '\n';
    memset(want, 'x', TAIL_TEXT_MAX);
    assert_words(text, 6000, 6000, want);
    assert_words(text, 1025, 1025, want);
}

static void colours_do_not_count(void **state)
{
    struct tail tail = {.n = 0};
    char out[TAIL_TEXT_MAX + 1];
    (void)state;
    for (int i = 0; i < 1000; i++)
        tail_add(&tail, "\033[31mx\033[0m", 10);
    size_t n = tail_words(&tail, out);
    assert_in_range(n, 200, 300);
    assert_int_equal(strspn(out + n - 200, "x"), 200);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_but_words_is_left),
        cmocka_unit_test(of_many_lines_the_last_whole_ones_are_left),
        cmocka_unit_test(of_a_line_that_is_too_long_the_end_is_left),
        cmocka_unit_test(colours_do_not_count),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
