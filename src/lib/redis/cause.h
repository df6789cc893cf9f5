/* SPDX-License-Identifier: MIT
 *
 * Why no connection came about, which of several reasons is told, and when no attempt helps any more. Of several places
 * one may refuse a password while another does not answer: the first is what somebody can mend, whichever came last.
 * And one may refuse what another accepts, while a password or a server is being replaced from place to place: so that
 * is the end only when all of them refuse, one after the other. Where all places are addresses of one name, one at which
 * nobody is does not put that off: a name often has one of a family on which the server does not listen. Nor does a
 * sentinel that is away, where the master refuses: it would lead there, too.
 */
#ifndef CAUSE_H
#define CAUSE_H

#include <stdbool.h>
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
    size_t addresses;        /* of the name, of which this was one; 0: it was none, or the only one */
    bool is_named;           /* it was no place of the URL: a sentinel has named it */
    size_t refusals;         /* of so many places one after the other, up to the last attempt */
    bool is_reached;         /* by the right place, to which the others only lead */
    char why[CAUSE_WHY_MAX]; /* without the place */
    char text[768];          /* with it */
};

/* Another attempt has failed. The more telling cause stays for as many attempts as there are places. */
void cause_note(struct cause *most, const struct cause *now, size_t places);

/* May this error be that of one place or address, and another one do? All other errors are the same everywhere. */
bool cause_is_of_one_place(int err);
/* Does no further attempt help, until somebody mends it? */
bool cause_is_final(const struct cause *most, size_t places);

#endif
