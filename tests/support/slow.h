/* SPDX-License-Identifier: MIT
 *
 * How slow this machine is now. A test that needs a time (a ttl that nobody may miss, a bound on how late something is)
 * scales it by that, so what it asserts is the same on a machine with a quarter of the speed, or beside much else.
 */
#ifndef SLOW_H
#define SLOW_H

/* So long a time here as `ms` on a good machine that does nothing else: at least `ms`, at most 8 times as long. It is the
 * same in the whole program and in the processes that the program forks. */
int slow_ms(int ms);

#endif
