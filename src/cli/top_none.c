/* SPDX-License-Identifier: MIT
 *
 * In place of all other top*.c in a build without ncurses.
 */
#include "complain.h"
#include "top.h"

int top_run(const struct top_options *o)
{
    muster_client_free(o->client);
    complain_refusal(o->call, COMPLAIN_SYSTEM,
                     "this muster was built without it: it needs libncurses-dev and -DMUSTER_TUI=ON; "
                     "`muster queues`, `workers` and `ps` show the same");
    return EXIT_FAILED;
}
