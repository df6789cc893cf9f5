/* SPDX-License-Identifier: MIT
 *
 * Reading what INFO answers.
 */
#ifndef SERVER_INFO_H
#define SERVER_INFO_H

#include <muster/client.h>

/* All but `size`. */
void server_info_read(struct muster_server_info *s, const char *info);

#endif
