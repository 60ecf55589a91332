/* Devices with real keys in a temporary directory, and channels between them over 127.0.0.1, for the tests. */
#ifndef HAUL_TESTS_NET_FIXTURE_H
#define HAUL_TESTS_NET_FIXTURE_H

#include "agent/channel.h"
#include "certs/identity.h"

struct device {
	char dir[64];
	struct identity *identity;
	struct tls_config *tls;
	const struct device *knows[4]; /* the others it knows */
	size_t knows_count;
};

/* Makes the key; whom the device knows may be added any time. */
void device_open(struct device *d);
void device_close(struct device *d);
void device_meet(struct device *a, const struct device *b);
const uint8_t *device_id_of(const struct device *d);

/* 127.0.0.1:port */
struct sockaddr_storage loopback(unsigned port);

/* Runs the loop until `*flag`; fails the test after 20 s. */
void run_until(uv_loop_t *loop, const bool *flag);
/* Runs what is left, then asserts that the loop closes. */
void loop_finish(uv_loop_t *loop);

/* A listening socket that makes a server channel of the next connection. */
struct door {
	uv_tcp_t tcp;
	struct device *device;
	const struct channel_callbacks *cb;
	void *ctx;
	struct channel *accepted;
	unsigned port;
};
void door_open(struct door *door, uv_loop_t *loop, struct device *device, const struct channel_callbacks *cb,
	       void *ctx);
void door_close(struct door *door);

#endif
