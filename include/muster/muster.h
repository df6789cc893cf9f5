/* SPDX-License-Identifier: MIT
 *
 * All of muster: a worker-registry task queue on Redis.
 *
 * client.h is for programs that enqueue tasks and look at queues, async.h for those that must not block, listen.h for
 * those that listen, job.h for jobs,
 * batch.h for batches of them, cron.h for schedules, and worker.h for programs that do the work; stats.h has the
 * figures of workers and clients; error.h is shared by all.
 */
#ifndef MUSTER_H
#define MUSTER_H

#include "async.h"
#include "batch.h"
#include "client.h"
#include "cron.h"
#include "error.h"
#include "job.h"
#include "listen.h"
#include "stats.h"
#include "version.h"
#include "worker.h"

#endif
