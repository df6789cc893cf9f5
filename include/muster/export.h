/* SPDX-License-Identifier: MIT
 *
 * What the shared library exports: everything is hidden but the calls marked MUSTER_API.
 */
#ifndef MUSTER_EXPORT_H
#define MUSTER_EXPORT_H

#if defined(__GNUC__)
#define MUSTER_API __attribute__((visibility("default")))
#define MUSTER_MUST_CHECK __attribute__((warn_unused_result))
#else
#define MUSTER_API
#define MUSTER_MUST_CHECK
#endif

#endif
