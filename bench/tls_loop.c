/*
 * TLS alone: one channel pair over loopback, a thread for each end, as two lanes would be.
 *
 *   haul_bench_tls [GIB [BLOCK_KIB]]    default 4 GiB in writes of 4096 KiB
 *
 * Prints GB/s (10^9 bytes) of payload, and the CPU seconds per GB of both ends together. What would make the number
 * wrong: fewer than two free cores, and a payload that is not read (it is, into one buffer).
 */
#include "agent/channel.h"
#include "agent/channel_impl.h"
#include "certs/identity.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct end {
	uv_loop_t loop;
	struct tls_config *tls;
	uint64_t total, done;
	size_t block_bytes;
	uint8_t *block;
	uv_tcp_t server;
	struct sockaddr_storage address;
	double started_s, ended_s;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool everybody(void *ctx, const uint8_t id[DEVICE_ID_BYTES])
{
	(void)ctx;
	(void)id;
	return true;
}

static void send_some(struct end *e, struct channel *ch)
{
	while (e->done < e->total) {
		size_t at = (size_t)(e->done % e->block_bytes);
		size_t taken = channel_write(ch, e->block + at, e->block_bytes - at);

		e->done += taken;
		if (at + taken < e->block_bytes)
			return;
	}
	channel_finish(ch);
}

static void on_sender_ready(void *ctx, struct channel *ch, const uint8_t id[32])
{
	struct end *e = ctx;
	haul_status st = channel_grow(ch);

	(void)id;
	assert(haul_ok(st));
	e->started_s = now_s();
	send_some(e, ch);
}

static void on_receiver_ready(void *ctx, struct channel *ch, const uint8_t id[32])
{
	haul_status st = channel_grow(ch);

	(void)ctx;
	(void)id;
	assert(haul_ok(st));
}

static void on_readable(void *ctx, struct channel *ch)
{
	struct end *e = ctx;
	size_t got;

	while ((got = channel_read(ch, e->block + e->done % e->block_bytes,
				   e->block_bytes - (size_t)(e->done % e->block_bytes))))
		e->done += got;
}

static void on_writable(void *ctx, struct channel *ch)
{
	send_some(ctx, ch);
}

static void on_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct end *e = ctx;

	if (haul_failed(why))
		fprintf(stderr, "%s\n", fault->text);
	e->ended_s = now_s();
	channel_close(ch, NULL, NULL);
}

static const struct channel_callbacks sender = { on_sender_ready, on_readable, on_writable, on_end };
static const struct channel_callbacks receiver = { on_receiver_ready, on_readable, on_writable, on_end };

static void on_connection(uv_stream_t *server, int err)
{
	struct end *e = server->data;
	struct channel *ch;
	haul_status st;

	assert(!err);
	st = channel_accept(server, e->tls, &receiver, e, &ch);
	assert(haul_ok(st));
	uv_close((uv_handle_t *)server, NULL);
}

static void *send_all(void *arg)
{
	struct end *e = arg;
	struct channel_connect_config cfg = { .tls = e->tls, .address = &e->address, .timeout_ms = 5000 };
	struct channel *ch;
	haul_status st = channel_connect(&e->loop, &cfg, &sender, e, &ch, NULL);

	assert(haul_ok(st));
	uv_run(&e->loop, UV_RUN_DEFAULT);
	return NULL;
}

static void end_open(struct end *e, struct tls_config *tls, uint64_t total, size_t block_bytes)
{
	*e = (struct end){ .tls = tls, .total = total, .block_bytes = block_bytes };
	e->block = malloc(block_bytes);
	assert(e->block);
	memset(e->block, 0x5a, block_bytes);
	uv_loop_init(&e->loop);
}

static void end_close(struct end *e)
{
	int err = uv_loop_close(&e->loop);

	assert(!err);
	free(e->block);
}

static void listen_on_loopback(struct end *e)
{
	int err, len = sizeof(e->address);

	uv_ip4_addr("127.0.0.1", 0, (struct sockaddr_in *)&e->address);
	uv_tcp_init(&e->loop, &e->server);
	e->server.data = e;
	uv_tcp_bind(&e->server, (const struct sockaddr *)&e->address, 0);
	err = uv_listen((uv_stream_t *)&e->server, 1, on_connection);
	assert(!err);
	uv_tcp_getsockname(&e->server, (struct sockaddr *)&e->address, &len);
}

static struct identity *throwaway_identity(void)
{
	static const char *const names[] = { "key", "crt", "lock" };
	char dir[] = "/tmp/haul-bench-tls-XXXXXX", path[64];
	struct identity *identity = NULL;
	haul_status st;
	int fd;

	if (!mkdtemp(dir))
		abort();
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	st = identity_open(fd, &identity, NULL);
	assert(haul_ok(st));
	(void)close(fd);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/identity.%s", dir, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
	return identity;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 + (double)u.ru_stime.tv_sec +
	       (double)u.ru_stime.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	uint64_t gib = argc > 1 ? strtoull(argv[1], NULL, 10) : 4;
	size_t block_bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 4096) * 1024;
	uint64_t total = gib << 30;
	struct identity *identity = throwaway_identity();
	struct tls_config_options options = { .identity = identity, .is_known = everybody };
	struct tls_config *tls;
	static struct end from, to;
	pthread_t thread;
	double cpu, seconds;
	haul_status st = tls_config_new(&options, &tls, NULL);

	assert(haul_ok(st) && block_bytes);
	end_open(&from, tls, total, block_bytes);
	end_open(&to, tls, total, block_bytes);
	listen_on_loopback(&to);
	from.address = to.address;
	cpu = cpu_s();
	pthread_create(&thread, NULL, send_all, &from);
	uv_run(&to.loop, UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	seconds = to.ended_s - from.started_s;
	cpu = cpu_s() - cpu;
	printf("%.3f GB/s, %.3f CPU s per GB\n", (double)to.done / 1e9 / seconds, cpu / ((double)to.done / 1e9));
	end_close(&from);
	end_close(&to);
	tls_config_free(tls);
	identity_free(identity);
	return to.done == total ? 0 : 1;
}
