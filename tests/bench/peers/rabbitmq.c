/* SPDX-License-Identifier: MIT
 *
 * RabbitMQ's player, by its own C client, with as many messages unanswered as help. Messages are transient. A producer
 * counts what the server confirms. A worker acknowledges many messages at once; what it is answered behind the last
 * acknowledgement shows that this has arrived.
 */
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

#define WINDOW 500
#define CHANNEL 1
#define FRAME_MAX 131072

static amqp_connection_state_t connection;

static void check(amqp_rpc_reply_t reply, const char *what)
{
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        player_fail("RabbitMQ: %s failed: kind %d, %s", what, (int)reply.reply_type,
                    amqp_error_string2(reply.library_error));
}

static void declare(const char *queue)
{
    amqp_queue_declare(connection, CHANNEL, amqp_cstring_bytes(queue), 0, 0, 0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(connection), "declaring a queue");
}

static void subscribe(const char *queue, size_t window)
{
    amqp_basic_qos(connection, CHANNEL, 0, (uint16_t)window, 0);
    check(amqp_get_rpc_reply(connection), "asking for a window");
    amqp_basic_consume(connection, CHANNEL, amqp_cstring_bytes(queue), amqp_cstring_bytes("worker"), 0, 0, 0,
                       amqp_empty_table);
    check(amqp_get_rpc_reply(connection), "subscribing");
}

static void open_self(const char *address, const char *role)
{
    char host[64];
    const char *colon = strchr(address, ':');
    snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - address) : 0, address);
    connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    if (!colon || !socket || amqp_socket_open(socket, host, atoi(colon + 1)) != AMQP_STATUS_OK)
        player_fail("RabbitMQ: no connection to %s", address);
    check(amqp_login(connection, "/", 0, FRAME_MAX, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest"), "logging in");
    amqp_channel_open(connection, CHANNEL);
    check(amqp_get_rpc_reply(connection), "opening a channel");
    declare(FILL_QUEUE);
    declare(SEND_QUEUE);
    if (strcmp(role, "produce") == 0) {
        amqp_confirm_select(connection, CHANNEL);
        check(amqp_get_rpc_reply(connection), "asking for confirmations");
    }
}

/* ---- produce ---- */

static uint64_t n_published, n_confirmed;

static void publish(const char *queue, const char *task)
{
    const amqp_bytes_t body = {TASK_LEN, (void *)task};
    if (amqp_basic_publish(connection, CHANNEL, amqp_empty_bytes, amqp_cstring_bytes(queue), 0, 0, NULL, body) !=
        AMQP_STATUS_OK)
        player_fail("RabbitMQ: publishing failed");
    n_published++;
}

/* Waits until at most `most` messages are not confirmed. */
static void await_confirmations(uint64_t most)
{
    amqp_frame_t frame;
    while (n_published - n_confirmed > most) {
        amqp_maybe_release_buffers(connection);
        if (amqp_simple_wait_frame(connection, &frame) != AMQP_STATUS_OK || frame.frame_type != AMQP_FRAME_METHOD ||
            frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
            player_fail("RabbitMQ answered with something that is no confirmation");
        const amqp_basic_ack_t *ack = frame.payload.method.decoded;
        n_confirmed = ack->multiple ? ack->delivery_tag : n_confirmed + 1;
    }
}

static void fill(size_t n)
{
    char task[TASK_LEN];
    for (size_t i = 1; i <= n; i++) {
        player_task(task, (int64_t)i);
        publish(FILL_QUEUE, task);
        if (n_published - n_confirmed >= WINDOW)
            await_confirmations(WINDOW / 2);
    }
    await_confirmations(0);
}

static void send_one(const char *task)
{
    publish(SEND_QUEUE, task);
    await_confirmations(0);
}

/* ---- drain and listen ---- */

/* Takes a message and handles it. Returns its tag. */
static uint64_t work(void)
{
    amqp_envelope_t envelope;
    amqp_maybe_release_buffers(connection);
    check(amqp_consume_message(connection, &envelope, NULL, 0), "taking a message");
    player_handle(envelope.message.body.bytes, envelope.message.body.len);
    uint64_t tag = envelope.delivery_tag;
    amqp_destroy_envelope(&envelope);
    return tag;
}

static void acknowledge(uint64_t tag)
{
    if (amqp_basic_ack(connection, CHANNEL, tag, 1) != AMQP_STATUS_OK)
        player_fail("RabbitMQ: acknowledging failed");
}

static void drain(size_t n)
{
    size_t window = player_window() ? player_window() : WINDOW, at_once = window > 1 ? window / 4 : 1;
    subscribe(FILL_QUEUE, window);
    for (size_t i = 1; i <= n; i++) {
        uint64_t tag = work();
        if (i % at_once == 0 || i == n)
            acknowledge(tag);
    }
    amqp_basic_cancel(connection, CHANNEL, amqp_cstring_bytes("worker"));
    check(amqp_get_rpc_reply(connection), "ending a drain");
}

static void listen_on(void)
{
    subscribe(SEND_QUEUE, 1);
    puts("ready");
    for (;;)
        acknowledge(work());
}

int main(int argc, char **argv)
{
    const struct player player = {open_self, fill, send_one, drain, listen_on};
    return player_run(&player, argc, argv);
}
