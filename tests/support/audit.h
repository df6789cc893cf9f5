/* SPDX-License-Identifier: MIT
 *
 * The account of a journal at the end of a test, for tests whose tasks all differ: what was enqueued compared with what
 * ran.
 *
 *   - Each due task has finished at least once.
 *   - No token was started twice.
 *   - All runs of a task but one are explained: its end was reported as uncounted, it was told to stop, or its worker
 *     lost its registration, was killed by the test, or was swept, after it had begun. (Who sweeps may not hear that he
 *     did.)
 */
#ifndef AUDIT_H
#define AUDIT_H

#include "scene.h"

struct audit {
    size_t tasks, starts, again, uncounted;
};

/* Fails the test with the first task that breaks a law. Due are the tasks "<stem>0", "<stem>1", ... */
struct audit audit_finished(struct scene *s, const char *stem, size_t n);

#endif
