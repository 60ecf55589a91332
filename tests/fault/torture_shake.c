/*
 * Every request for memory of making an identity, of loading it, and of a handshake between two devices, fails once.
 *
 *     haul_torture_shake [POINTS [SEED]]     so many of each scenario; 0 or nothing: every one
 *
 * Whole programs have some 26,000 of these requests, nearly all of them mbedTLS's and the same in every scenario, so
 * they are counted here, where one takes a millisecond; torture.py has the rest. Both ends are in this process, on one
 * loop: a listener, and a channel to it over 127.0.0.1. Each case ends with both ends told, no memory, descriptor or
 * key slot left, and good only when the data went there and back. The calls are wrapped by the linker. Exit 0; 1: one
 * did not hold, told with its number.
 *
 * mbedTLS 3.6 leaves one cipher context behind when the keys of a connection cannot be set up (its
 * mbedtls_ssl_tls13_compute_handshake_transform() and ..._application_transform() free a transform without what is in
 * it): LIBRARY_LEAKS_MAX of such cases are let pass, and told.
 */
#include "agent/listener.h"
#include "agent/loop_open.h"
#include "certs/identity.h"
#include "engine/base/log.h"
#include "tests/unit/net_fixture.h"

#include <mbedtls/version.h>
#include <psa/crypto.h>
#include <psa/crypto_extra.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 20000, HANG_S = 20, CONNECT_MS = 10000, LIBRARY_LEAKS_MAX = 16 };

/* For the sanitizer. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:mbedtls_ssl_tls13_populate_transform\n";
}

/* ---- memory ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);
void __wrap_free(void *at);

/* One thread does everything. */
static unsigned long asked, fails_at; /* requests of this case; 0: none fails */
static bool has_fired;
static long in_use;

static bool is_refused(void)
{
	if (++asked != fails_at)
		return false;
	has_fired = true;
	return true;
}

static void *counted(void *at)
{
	in_use += at != NULL;
	return at;
}

void *__wrap_malloc(size_t size)
{
	return is_refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	void *at = is_refused() ? NULL : __real_realloc(old, size);

	if (at && !old)
		in_use++;
	return at;
}

char *__wrap_strdup(const char *text)
{
	return is_refused() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t len)
{
	return is_refused() ? NULL : counted(__real_strndup(text, len));
}

void __wrap_free(void *at)
{
	in_use -= at != NULL;
	__real_free(at);
}

/* ---- what is held ---- */

struct held {
	long memory, descriptors, key_slots;
};

static long count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count;
}

static struct held held_now(void)
{
	mbedtls_psa_stats_t stats;
	struct held h = { .memory = in_use, .descriptors = count_descriptors() };

	mbedtls_psa_get_stats(&stats);
	h.key_slots = (long)stats.MBEDTLS_PRIVATE(volatile_slots);
	return h;
}

/* ---- scenarios ---- */

/* Two devices that know each other. */
struct pair {
	struct device a, b;
	char empty_dir[64]; /* where identities are made */
};

/* What a case came to; on failure, `wrong` says what must not be. */
struct verdict {
	haul_status status;
	const char *wrong;
	struct held left; /* more than before */
};

static void remove_identity(int dir_fd)
{
	static const char *const names[] = { "identity.key", "identity.crt", "identity.lock" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(dir_fd, names[i], 0);
}

/* What stays after a failure is none, or one that counts: the second try has it, or makes another. */
static struct verdict make_identity(struct pair *p)
{
	int dir_fd = open(p->empty_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct identity *first = NULL, *second = NULL;
	struct verdict v = { .status = identity_open(dir_fd, &first, NULL) };

	fails_at = 0;
	if (haul_failed(identity_open(dir_fd, &second, NULL)))
		v.wrong = "what it left can be neither loaded nor made anew";
	else if (first && !device_id_equal(identity_device_id(first), identity_device_id(second)))
		v.wrong = "it is another device the next time";
	identity_free(first);
	identity_free(second);
	remove_identity(dir_fd);
	(void)close(dir_fd);
	return v;
}

static struct verdict load_identity(struct pair *p)
{
	int dir_fd = open(p->a.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct identity *identity = NULL;
	struct tls_config *tls = NULL;
	struct tls_config_options options = { 0 };
	struct verdict v = { .status = identity_open(dir_fd, &identity, NULL) };

	(void)close(dir_fd);
	if (haul_failed(v.status))
		return v;
	if (!device_id_equal(identity_device_id(identity), device_id_of(&p->a)))
		v.wrong = "it is another device";
	options.identity = identity;
	v.status = tls_config_new(&options, &tls, NULL);
	tls_config_free(tls);
	identity_free(identity);
	return v;
}

/* One end of a connection. */
struct end {
	struct talk *talk;
	struct channel *ch; /* NULL: not there yet, or closing */
	const struct device *other;
	bool is_client, is_ready, is_over;
	haul_status why;
	size_t written, got;
	bool is_damaged;
};

struct talk {
	uv_loop_t loop;
	struct listener *listener;
	struct end client, server;
	const char *wrong;
};

static void stop_listening(struct talk *t)
{
	if (t->listener)
		listener_close(t->listener, NULL, NULL);
	t->listener = NULL;
}

static void write_rest(struct end *e)
{
	static uint8_t message[MESSAGE_BYTES];

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)(i * 7 + e->is_client);
	e->written += channel_write(e->ch, message + e->written, sizeof(message) - e->written);
	channel_flush(e->ch);
}

static void on_ready(void *ctx, struct channel *ch, const uint8_t id[DEVICE_ID_BYTES])
{
	struct end *e = ctx;

	e->ch = ch;
	e->is_ready = true;
	if (!device_id_equal(id, device_id_of(e->other)))
		e->talk->wrong = "another device is taken for the known one";
	if (haul_ok(channel_grow(ch)))
		write_rest(e);
	else
		channel_finish(ch);
}

static void on_readable(void *ctx, struct channel *ch)
{
	struct end *e = ctx;
	uint8_t data[4096];
	size_t len;

	while ((len = channel_read(ch, data, sizeof(data)))) {
		for (size_t i = 0; i < len; i++)
			e->is_damaged |= data[i] != (uint8_t)((e->got + i) * 7 + !e->is_client);
		e->got += len;
	}
	if (e->got == MESSAGE_BYTES && e->written == MESSAGE_BYTES)
		channel_finish(ch);
}

static void on_writable(void *ctx, struct channel *ch)
{
	struct end *e = ctx;

	write_rest(e);
	if (e->got == MESSAGE_BYTES && e->written == MESSAGE_BYTES)
		channel_finish(ch);
}

static void on_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct end *e = ctx;

	(void)fault;
	e->is_over = true;
	e->why = why;
	e->ch = NULL;
	channel_close(ch, NULL, NULL);
	if (e->is_client)
		stop_listening(e->talk);
}

static const struct channel_callbacks callbacks = {
	.on_ready = on_ready, .on_readable = on_readable, .on_writable = on_writable, .on_end = on_end
};

static void on_channel(void *ctx, struct channel *ch, const uint8_t id[DEVICE_ID_BYTES])
{
	struct talk *t = ctx;

	channel_set_callbacks(ch, &callbacks, &t->server);
	listener_authenticated(t->listener, ch);
	on_ready(&t->server, ch, id);
}

static haul_status talk_start(struct talk *t, struct pair *p)
{
	const struct listener_config listen = {
		.tls = p->b.tls, .address = loopback(0), .on_channel = on_channel, .ctx = t
	};
	struct channel_connect_config connect = { .tls = p->a.tls,
						  .expect_id = device_id_of(&p->b),
						  .timeout_ms = CONNECT_MS };
	struct sockaddr_storage address;
	haul_status st = listener_open(&t->loop, &listen, &t->listener, NULL);

	if (haul_failed(st))
		return st;
	address = loopback((unsigned)atoi(strrchr(listener_address_text(t->listener), ':') + 1));
	connect.address = &address;
	st = channel_connect(&t->loop, &connect, &callbacks, &t->client, &t->client.ch, NULL);
	if (haul_failed(st))
		stop_listening(t);
	return st;
}

static const char *talk_judge(const struct talk *t)
{
	const struct end *ends[] = { &t->client, &t->server };

	if (t->wrong)
		return t->wrong;
	for (size_t i = 0; i < 2; i++) {
		if (ends[i]->is_damaged)
			return "what arrived is not what was sent";
		if (ends[i]->is_ready && !ends[i]->is_over)
			return "an end was never told that it is over";
		if (ends[i]->is_over && haul_ok(ends[i]->why) && ends[1 - i]->got < ends[i]->written &&
		    ends[i]->got == MESSAGE_BYTES)
			return "an end has heard everything and a good end, and what it said is lost";
	}
	return NULL;
}

static struct verdict shake_hands(struct pair *p)
{
	struct talk t = { 0 };
	struct verdict v = { 0 };

	t.client = (struct end){ .talk = &t, .other = &p->b, .is_client = true };
	t.server = (struct end){ .talk = &t, .other = &p->a };
	if (loop_open(&t.loop)) {
		v.status = HAUL_NO_MEMORY;
		return v;
	}
	v.status = talk_start(&t, p);
	(void)uv_run(&t.loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&t.loop))
		v.wrong = "handles are left open";
	else if (haul_ok(v.status) && !t.client.is_over)
		v.wrong = "the client was never told that it is over";
	else
		v.wrong = talk_judge(&t);
	if (haul_ok(v.status))
		v.status = haul_failed(t.client.why) ? t.client.why : t.server.why;
	if (haul_ok(v.status) && !(t.client.got == MESSAGE_BYTES && t.server.got == MESSAGE_BYTES))
		v.status = HAUL_LOST;
	return v;
}

/* ---- every one of them ---- */

struct scenario {
	const char *name;
	struct verdict (*run)(struct pair *p);
};

static const struct scenario scenarios[] = {
	{ "make an identity", make_identity },
	{ "load an identity", load_identity },
	{ "shake hands", shake_hands },
};

static unsigned library_leaks;

static bool is_more(const struct held *left)
{
	return left->memory || left->descriptors || left->key_slots;
}

/* The one cipher context of a handshake that failed. */
static bool is_library_leak(const struct scenario *s, const struct verdict *v)
{
	return s->run == shake_hands && haul_failed(v->status) && v->left.memory == 1 && !v->left.descriptors &&
	       !v->left.key_slots;
}

/* The n-th request fails; false: there were not so many. */
static bool run_one(const struct scenario *s, struct pair *p, unsigned long n, struct verdict *ret_verdict)
{
	struct held before = held_now(), after;

	(void)alarm(HANG_S); /* ends the program: the line that is missing says where */
	asked = 0;
	has_fired = false;
	fails_at = n;
	*ret_verdict = s->run(p);
	fails_at = 0;
	(void)alarm(0);
	after = held_now();
	ret_verdict->left = (struct held){ after.memory - before.memory, after.descriptors - before.descriptors,
					   after.key_slots - before.key_slots };
	if (!ret_verdict->wrong && is_library_leak(s, ret_verdict))
		library_leaks++;
	else if (!ret_verdict->wrong && is_more(&ret_verdict->left))
		ret_verdict->wrong = "memory, descriptors or key slots are left";
	return has_fired;
}

static bool tell(const struct scenario *s, unsigned long n, const struct verdict *v)
{
	if (!v->wrong)
		return true;
	printf("FAILED %s, request %lu: %s (%s)\n", s->name, n, v->wrong, haul_status_text(v->status));
	if (is_more(&v->left))
		printf("  left: %ld pieces of memory, %ld descriptors, %ld key slots\n", v->left.memory,
		       v->left.descriptors, v->left.key_slots);
	return false;
}

/* With `points`, a step of random length after each, so that about so many are tried. */
static unsigned long step(unsigned long total, unsigned long points)
{
	unsigned long mean = points && points < total ? total / points : 1;

	return mean == 1 ? 1 : 1 + (unsigned long)random() % (2 * mean - 1);
}

static bool run_scenario(const struct scenario *s, struct pair *p, unsigned long points)
{
	unsigned long total, tried = 0, well = 0, n;
	struct verdict v;
	bool is_good;

	(void)run_one(s, p, 0, &v); /* what is made once stays */
	(void)run_one(s, p, 0, &v);
	total = asked;
	is_good = tell(s, 0, &v) && haul_ok(v.status);
	if (!is_good)
		printf("FAILED %s without a fault: %s\n", s->name, haul_status_text(v.status));
	for (n = step(total, points); run_one(s, p, n, &v); n += step(total, points)) {
		is_good &= tell(s, n, &v);
		tried++;
		well += haul_ok(v.status);
	}
	is_good &= tell(s, n, &v);
	printf("%s: %lu requests for memory, %lu of them refused, %lu times nothing was amiss\n", s->name, total, tried,
	       well);
	(void)fflush(stdout);
	return is_good;
}

int main(int argc, char **argv)
{
	unsigned long points = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	struct pair p = { .empty_dir = "/tmp/haul-shake-XXXXXX" };
	bool is_good = true;

	srandom(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	if (!mkdtemp(p.empty_dir))
		return 2;
	device_open(&p.a);
	device_open(&p.b);
	device_meet(&p.a, &p.b);
	device_meet(&p.b, &p.a);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		is_good &= run_scenario(&scenarios[i], &p, points);
	device_close(&p.a);
	device_close(&p.b);
	(void)rmdir(p.empty_dir);
	if (library_leaks)
		printf("mbedTLS left a cipher context behind %u times\n", library_leaks);
	return is_good && library_leaks <= LIBRARY_LEAKS_MAX ? 0 : 1;
}
