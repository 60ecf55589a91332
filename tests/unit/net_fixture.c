#include "tests/unit/net_fixture.h"

#include "agent/channel_impl.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

static bool is_known(void *ctx, const uint8_t id[DEVICE_ID_BYTES])
{
	const struct device *d = ctx;

	for (size_t i = 0; i < d->knows_count; i++) {
		if (device_id_equal(identity_device_id(d->knows[i]->identity), id))
			return true;
	}
	return false;
}

void device_open(struct device *d)
{
	struct tls_config_options options = { .is_known = is_known, .ctx = d };
	haul_status st;
	int fd;

	(void)signal(SIGPIPE, SIG_IGN); /* as both programs do: whoever is slower writes to an end that has gone */
	*d = (struct device){ .dir = "/tmp/haul-net-test-XXXXXX" };
	assert(mkdtemp(d->dir));
	fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(fd >= 0);
	st = identity_open(fd, &d->identity, NULL);
	assert(haul_ok(st));
	(void)close(fd);
	options.identity = d->identity;
	st = tls_config_new(&options, &d->tls, NULL);
	assert(haul_ok(st));
}

void device_close(struct device *d)
{
	static const char *const names[] = { "identity.key", "identity.crt", "identity.lock" };
	char path[128];

	tls_config_free(d->tls);
	identity_free(d->identity);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", d->dir, names[i]);
		(void)unlink(path);
	}
	if (rmdir(d->dir))
		assert(false && "a device's directory holds nothing else");
}

void device_meet(struct device *a, const struct device *b)
{
	assert(a->knows_count < sizeof(a->knows) / sizeof(a->knows[0]));
	a->knows[a->knows_count++] = b;
}

const uint8_t *device_id_of(const struct device *d)
{
	return identity_device_id(d->identity);
}

struct sockaddr_storage loopback(unsigned port)
{
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	int err = uv_ip4_addr("127.0.0.1", (int)port, (struct sockaddr_in *)&address);

	assert(!err);
	return address;
}

static void on_tick(uv_timer_t *timer)
{
	++*(unsigned *)timer->data;
}

void run_until(uv_loop_t *loop, const bool *flag)
{
	unsigned ticks = 0;
	uv_timer_t timer;

	uv_timer_init(loop, &timer);
	timer.data = &ticks;
	uv_timer_start(&timer, on_tick, 100, 100);
	while (!*flag) {
		uv_run(loop, UV_RUN_ONCE);
		assert(ticks < 200);
	}
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(loop, UV_RUN_NOWAIT);
}

void loop_finish(uv_loop_t *loop)
{
	int err;

	uv_run(loop, UV_RUN_DEFAULT);
	err = uv_loop_close(loop);
	assert(!err);
}

static void on_connection(uv_stream_t *server, int err)
{
	struct door *door = server->data;
	haul_status st;

	assert(!err);
	st = channel_accept(server, door->device->tls, door->cb, door->ctx, &door->accepted);
	assert(haul_ok(st));
}

void door_open(struct door *door, uv_loop_t *loop, struct device *device, const struct channel_callbacks *cb, void *ctx)
{
	struct sockaddr_storage address = loopback(0);
	int err, len = sizeof(address);

	*door = (struct door){ .device = device, .cb = cb, .ctx = ctx };
	err = uv_tcp_init(loop, &door->tcp);
	assert(!err);
	door->tcp.data = door;
	err = uv_tcp_bind(&door->tcp, (const struct sockaddr *)&address, 0);
	assert(!err);
	err = uv_listen((uv_stream_t *)&door->tcp, 16, on_connection);
	assert(!err);
	err = uv_tcp_getsockname(&door->tcp, (struct sockaddr *)&address, &len);
	assert(!err);
	door->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
}

void door_close(struct door *door)
{
	uv_close((uv_handle_t *)&door->tcp, NULL);
}
