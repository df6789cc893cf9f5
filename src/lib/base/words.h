/* SPDX-License-Identifier: MIT
 *
 * What is wrong, in words that say a name or number of the program's.
 */
#ifndef WORDS_H
#define WORDS_H

/* The words, without control characters. They lie in a buffer of the thread, until its next call of this. */
const char *words_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
