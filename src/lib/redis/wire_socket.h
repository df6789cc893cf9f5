/* SPDX-License-Identifier: MIT
 *
 * The sockets under a wire. None of these functions raises a signal. Only wire_socket_wait() waits; the others need
 * no socket of a certain mode.
 */
#ifndef WIRE_SOCKET_H
#define WIRE_SOCKET_H

#include <stddef.h>

#include "redis/wire.h"

/* It has moved bytes; it must wait until something can be read, or written; the other side has closed; it failed. */
enum wire_io { WIRE_IO_DONE, WIRE_IO_WAITS_IN, WIRE_IO_WAITS_OUT, WIRE_IO_CLOSED, WIRE_IO_FAILED };

/* A socket that is connected or will be; -1: errno says why not. */
int wire_socket_open(const struct wire_place *place);
/* What every socket of muster's own has. */
void wire_socket_prepare(int fd);
/* The error of connecting, once the socket is writable; 0: none. */
int wire_socket_error(int fd);

/* WIRE_IO_DONE: `*n` bytes have moved, at least one. WIRE_IO_FAILED: errno says why. */
enum wire_io wire_socket_read(int fd, void *data, size_t size, size_t *n);
enum wire_io wire_socket_write(int fd, const void *data, size_t len, size_t *n);

/* How much of what was written it still holds; over TCP that is what the other side has not acknowledged. */
size_t wire_socket_held(int fd);
/* Closing it throws that away. One that holds nothing is closed as ever. */
void wire_socket_throw_away(int fd);

/* As wire_socket_read(), but it waits, for as long as wire_socket_limit() has said (at least 1 ms). WIRE_IO_WAITS_IN:
 * nothing has come, or, if errno is EINTR, a signal. wire_socket_limit() returns 0, or -1 with errno. */
int wire_socket_limit(int fd, int ms);
enum wire_io wire_socket_wait(int fd, void *data, size_t size, size_t *n);

#endif
