/* SPDX-License-Identifier: MIT
 *
 * The version, at compile time and at run time.
 */
#ifndef MUSTER_VERSION_H
#define MUSTER_VERSION_H

#include "export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_VERSION "0.1.0"

/* The version of the library that the program runs with; a static string. Any thread. */
MUSTER_API const char *muster_version(void);

#ifdef __cplusplus
}
#endif
#endif
