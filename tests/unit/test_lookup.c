/* SPDX-License-Identifier: MIT
 *
 * From a host's name to addresses, and from these to sockets. live/test_name_lookup has the rest.
 */
#include "redis/lookup.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "redis/wire_socket.h"
#include "testing.h"

/* A host that is an address already comes back as it is. */
static void assert_is_found(const char *host)
{
    struct lookup *l = lookup_new(host);
    assert_non_null(l);
    while (!lookup_step(l)) {
        struct pollfd p = {.fd = lookup_fd(l), .events = POLLIN};
        (void)poll(&p, 1, lookup_wait_ms(l));
    }
    assert_int_equal(lookup_n(l), 1);
    assert_string_equal(lookup_address(l, 0), host);
    lookup_free(l);
}

/* Whether anybody is there, or there is such a family at all, the machine decides; but it is an address. */
static void assert_is_an_address(const char *address)
{
    int fd = wire_socket_open(&(struct wire_place){.address = address, .port = 1});
    assert_true(fd >= 0 || errno != EINVAL);
    if (fd >= 0)
        close(fd);
}

static void an_address_is_found_whole_and_leads_somewhere(void **state)
{
    static const char *const addresses[] = {"127.0.0.1", "::1", "fe80::5%lo"};
    (void)state;
    for (size_t i = 0; i < N_OF(addresses); i++) {
        assert_is_found(addresses[i]);
        assert_is_an_address(addresses[i]);
    }
    assert_is_an_address("fe80::5%1");
}

static void what_is_no_address_leads_nowhere(void **state)
{
    static const char *const texts[] = {
        "", "%lo", "host", "1.2.3", "fe80::g%lo", "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111"};
    (void)state;
    for (size_t i = 0; i < N_OF(texts); i++) {
        assert_int_equal(wire_socket_open(&(struct wire_place){.address = texts[i], .port = 1}), -1);
        assert_int_equal(errno, EINVAL);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_found_whole_and_leads_somewhere),
        cmocka_unit_test(what_is_no_address_leads_nowhere),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
