/* SPDX-License-Identifier: MIT
 *
 * If memory runs out the command cannot even say what it was about to do, so it ends here.
 */
#include "need.h"

#include <stdio.h>
#include <stdlib.h>

#include "exits.h"

void *need(void *memory)
{
    if (memory)
        return memory;
    fputs("muster: out of memory\n", stderr);
    exit(EXIT_FAILED);
}
