/* SPDX-License-Identifier: MIT
 *
 * Scenes on a cluster: one cluster for a test program, three masters with a replica each. Each scene has a namespace in
 * a slot of its own; its client is at the cluster, its server the slot's owner.
 */
#ifndef CLUSTER_SCENE_H
#define CLUSTER_SCENE_H

#include "redis_cluster.h"
#include "scene.h"

#define MASTERS 3

extern struct redis_cluster cluster;

/* For cmocka, in place of those of a scene: of a program, and of a case. */
int cluster_scene_start(void **state);
int cluster_scene_stop(void **state);
int cluster_scene_begin(void **state);

/* A case for cmocka. */
#define cluster_test(f) cmocka_unit_test_setup_teardown(f, cluster_scene_begin, scene_end)

int cluster_scene_slot(const struct scene *s);
/* The number of its node. */
int cluster_scene_owner(const struct scene *s);
/* The slot has moved: look there from now on. */
void cluster_scene_look_at_owner(struct scene *s);
/* Move it, with all its keys. */
void cluster_scene_move(struct scene *s, int to);

#endif
