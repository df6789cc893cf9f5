/* SPDX-License-Identifier: MIT
 *
 * A name is not looked up here: one that is no address counts as beyond loopback, but for localhost.
 */
#include "place.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "text.h"

int place_read(const char *text, char **host)
{
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    int64_t number;
    *host = NULL;
    if (!text_read_number(&port, &number) || *port || number > 65535)
        return -1;
    size_t len = colon ? (size_t)(colon - text) : 0;
    bool has_brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
    if (colon && (len == 0 || (!has_brackets && memchr(text, ':', len))))
        return -1;
    *host = colon ? need(strndup(text + has_brackets, len - 2 * (size_t)has_brackets)) : need(strdup("127.0.0.1"));
    return (int)number;
}

bool place_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcmp(host, "localhost") == 0;
}
