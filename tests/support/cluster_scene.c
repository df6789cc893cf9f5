/* SPDX-License-Identifier: MIT
 *
 * Scenes on a cluster.
 */
#include "cluster_scene.h"

#include <stdio.h>

struct redis_cluster cluster;

int cluster_scene_start(void **state)
{
    redis_cluster_start(&cluster, &(struct redis_cluster_options){.masters = MASTERS, .replicas_each = 1});
    return scene_start(state);
}

int cluster_scene_stop(void **state)
{
    redis_cluster_remove(&cluster);
    return scene_stop(state);
}

int cluster_scene_begin(void **state)
{
    static int n;
    int err = scene_begin(state);
    struct scene *s = *state;
    snprintf(s->prefix, sizeof s->prefix, "{c%d}", n++);
    cluster_scene_look_at_owner(s);
    muster_client_free(s->client);
    assert_ok(muster_client_new(
        &s->client, &(struct muster_client_options){
                        .size = sizeof(struct muster_client_options), .url = cluster.url, .prefix = s->prefix}));
    return err;
}

int cluster_scene_slot(const struct scene *s)
{
    char root[32];
    snprintf(root, sizeof root, "%s:", s->prefix);
    return redis_cluster_slot(&cluster, root);
}

int cluster_scene_owner(const struct scene *s)
{
    return redis_cluster_owner(&cluster, cluster_scene_slot(s));
}

void cluster_scene_look_at_owner(struct scene *s)
{
    s->server = &cluster.nodes[cluster_scene_owner(s)];
}

void cluster_scene_move(struct scene *s, int to)
{
    redis_cluster_move(&cluster, cluster_scene_slot(s), to, 10);
    cluster_scene_look_at_owner(s);
}
