/* SPDX-License-Identifier: MIT
 *
 * Tells a service manager, systemd or another that speaks its protocol, how a worker is.
 */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

#include <stdint.h>

/* Read NOTIFY_SOCKET and the watchdog's variables, and remove them: the commands of a worker do not speak for it. */
void notify_open(void);

/* Send a state, as "READY=1". Does nothing without a manager; a manager that does not listen is not waited for. May be
 * called by a signal handler. */
void notify_say(const char *state);

/* How often the manager wants to hear WATCHDOG=1, in ms, twice as often as it insists on; 0: never. */
int64_t notify_watchdog_ms(void);

#endif
