/* SPDX-License-Identifier: MIT
 *
 * If memory runs out the command cannot even say what it was about to do, so it ends here.
 */
#include "need.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"

void *need(void *memory)
{
    if (memory)
        return memory;
    fputs("muster: out of memory\n", stderr);
    exit(EXIT_FAILED);
}

int need_descriptor(int fd)
{
    if (fd >= 0)
        return fd;
    fprintf(stderr, "muster: %s\n", strerror(errno));
    exit(EXIT_FAILED);
}
