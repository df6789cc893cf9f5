/* SPDX-License-Identifier: MIT
 *
 * Tells a service manager, systemd or another that speaks its protocol, how a worker is.
 */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

#include <stdint.h>

/* Read NOTIFY_SOCKET and the watchdog's variables, and remove them: the commands of a worker do not speak for it. */
void notify_open(void);

enum notify_state { NOTIFY_READY, NOTIFY_STOPPING };

/* Tell that it has come to this state. Does nothing without a manager, and does not wait for one. May be called by a
 * signal handler. */
void notify_say(enum notify_state state);

/* The loop goes round: call this so often, in ms; 0: there is no manager. It tells the watchdog so, and what the
 * manager could not take before. */
int64_t notify_pulse_ms(void);
void notify_pulse(void);

#endif
