/* SPDX-License-Identifier: MIT
 *
 * What is wrong, in words that say a name or number of the program's, or what a server has said.
 */
#ifndef WORDS_H
#define WORDS_H

/* The words, without control characters. They lie in a buffer of the thread, until its next call of this. */
const char *words_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Puts a '?' in place of each control character: words that somebody else has written must not steer a terminal, or look
 * like several lines of a log. */
void words_clean(char *words);

#endif
