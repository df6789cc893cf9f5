/* SPDX-License-Identifier: MIT
 *
 * Why no connection came about, and which of several reasons is told. Of several places one may refuse a password while
 * another does not answer: the first is what somebody can mend, whichever came last.
 */
#ifndef CAUSE_H
#define CAUSE_H

#include <stddef.h>

#define CAUSE_WHY_MAX 400

enum cause_rank {
    CAUSE_NOBODY, /* no server was reached */
    CAUSE_SILENT, /* one was, and has ended or said nothing */
    CAUSE_TOLD    /* the server, its certificate or our own settings say what is wrong */
};

struct cause {
    int err;
    enum cause_rank rank;
    size_t age;              /* attempts since, which told less */
    char why[CAUSE_WHY_MAX]; /* without the place */
    char text[768];          /* with it */
};

/* Another attempt has failed. The more telling cause stays for as many attempts as there are places. */
void cause_note(struct cause *most, const struct cause *now, size_t places);

#endif
