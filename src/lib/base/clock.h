/* SPDX-License-Identifier: MIT
 *
 * The local clock: milliseconds that rise also while the machine sleeps (CLOCK_BOOTTIME). A ttl runs out during a
 * suspend too, and the fence must know. What two hosts compare is Redis' clock, which the scripts read, and looks (probe.c).
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);
int64_t clock_us(void);

#endif
