/*
 * Coming up: home, identity, lock, lists, TLS, signals, the home's watch, listeners. Going down: the same backwards, in
 * libuv's way: every handle is closed and the loop runs out. What is still there STOP_MS after the signal is abandoned
 * with the process; partial files are found and cleared by the next one.
 */
#include "agent/hauld_daemon.h"

#include "agent/agent_lock.h"
#include "agent/exit_class.h"
#include "agent/listener.h"
#include "agent/loop_open.h"
#include "agent/notify.h"
#include "agent/server.h"
#include "agent/trace.h"
#include "certs/identity.h"
#include "engine/base/log.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STOP_MS = 5000, SIGNALS = 3, ADDRESSES_MAX = 2048 };

static const int signal_numbers[SIGNALS] = { SIGTERM, SIGINT, SIGHUP };

struct hauld_daemon {
	struct home home;
	struct agent_lock lock;
	struct identity *identity;
	uv_loop_t loop;
	struct server server;
	struct listener *listeners[HAULD_LISTEN_MAX];
	size_t listener_count; /* open ones */
	uv_signal_t signals[SIGNALS];
	uv_fs_event_t watch;
	uv_timer_t stop_timer;
	bool is_stopping;
	bool has_sessions; /* serving: server_stop() has not reported yet */
};

/* Called on the loop only: handshakes of a listener run there. */
static bool is_known(void *ctx, const uint8_t id[DEVICE_ID_BYTES])
{
	struct hauld_daemon *d = ctx;

	return peers_find_id(&d->server.peers, id) != NULL;
}

/* Lists */

static void load_lists(struct hauld_daemon *d)
{
	struct haul_fault fault;

	peers_free(&d->server.peers);
	if (haul_failed(peers_load(&d->home, &d->server.peers, &fault)))
		haul_log(HAUL_LOG_ERROR, "no peer is known until this is mended: %s", fault.text);
	shares_free(&d->server.shares);
	if (haul_failed(shares_load(&d->home, &d->server.shares, &fault)))
		haul_log(HAUL_LOG_ERROR, "nothing is shared until this is mended: %s", fault.text);
}

static void reload(struct hauld_daemon *d)
{
	if (d->is_stopping)
		return;
	load_lists(d);
	server_reload(&d->server);
	haul_log(HAUL_LOG_INFO, "%zu peers, %zu shares", d->server.peers.count, d->server.shares.count);
}

/* Lists are replaced by renaming a new file over the old one, which shows as an event of that name. */
static void on_home_changed(uv_fs_event_t *watch, const char *name, int events, int status)
{
	(void)events;
	if (status < 0)
		haul_log(HAUL_LOG_ERROR, "changes of the home are not seen any more (%s): send SIGHUP after each",
			 uv_strerror(status));
	else if (!name || !strcmp(name, "peers") || !strcmp(name, "shares"))
		reload(watch->data);
}

/* systemd wants to know when a reload began, by its own clock. */
static void reload_by_signal(struct hauld_daemon *d)
{
	struct timespec now;
	char state[96];

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
		       (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	notify_manager(state);
	reload(d);
	notify_manager("READY=1");
}

/* Stopping */

static void close_rest(struct hauld_daemon *d)
{
	if (d->has_sessions || d->listener_count || uv_is_closing((uv_handle_t *)&d->watch))
		return;
	for (size_t i = 0; i < SIGNALS; i++)
		uv_close((uv_handle_t *)&d->signals[i], NULL);
	uv_close((uv_handle_t *)&d->watch, NULL);
	uv_close((uv_handle_t *)&d->stop_timer, NULL);
}

static void on_sessions_stopped(void *ctx)
{
	struct hauld_daemon *d = ctx;

	d->has_sessions = false;
	close_rest(d);
}

static void on_listener_closed(void *ctx)
{
	struct hauld_daemon *d = ctx;

	d->listener_count--;
	close_rest(d);
}

/* Nothing is lost by this: what was not committed counts as never arrived. */
static void on_stop_timeout(uv_timer_t *timer)
{
	(void)timer;
	haul_log(HAUL_LOG_ERROR, "sessions did not end in %d s", STOP_MS / 1000);
	_exit(EXIT_CLASS_BUG);
}

static void stop(struct hauld_daemon *d)
{
	size_t listeners = d->listener_count;

	if (d->is_stopping)
		return;
	d->is_stopping = true;
	notify_manager("STOPPING=1");
	(void)uv_timer_start(&d->stop_timer, on_stop_timeout, STOP_MS, 0);
	for (size_t i = 0; i < listeners; i++)
		listener_close(d->listeners[i], on_listener_closed, d);
	server_stop(&d->server, on_sessions_stopped, d);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct hauld_daemon *d = handle->data;

	if (number == SIGHUP)
		reload_by_signal(d);
	else if (d->is_stopping)
		_exit(128 + number); /* asked twice: now */
	else
		stop(d);
}

/* Connections */

static void on_channel(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	struct hauld_daemon *d = ctx;

	server_take_channel(&d->server, ch, device_id);
}

static void on_authenticated(void *ctx, struct channel *ch)
{
	struct hauld_daemon *d = ctx;

	/* Whose it is, its listener knows. While stopping they are closed, and what is new has been dropped. */
	for (size_t i = 0; i < d->listener_count && !d->is_stopping; i++)
		listener_authenticated(d->listeners[i], ch);
}

/* Starting */

static haul_status open_listeners(struct hauld_daemon *d, const struct hauld_options *o, struct haul_fault *fault)
{
	for (size_t i = 0; i < o->listen_count; i++) {
		struct listener_config cfg = {
			.tls = d->server.tls, .address = o->listen[i], .on_channel = on_channel, .ctx = d
		};
		haul_status st = listener_open(&d->loop, &cfg, &d->listeners[d->listener_count], fault);

		if (haul_ok(st))
			d->listener_count++;
		else if (!o->is_default_listen || !i)
			return st;
		else
			haul_log(HAUL_LOG_WARNING, "%s", fault->text); /* a machine without IPv6, say */
	}
	return HAUL_OK;
}

static haul_status open_loop(struct hauld_daemon *d, struct haul_fault *fault)
{
	int err = loop_open(&d->loop);

	if (err)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no event loop: %s", uv_strerror(err));
	(void)uv_fs_event_init(&d->loop, &d->watch);
	(void)uv_timer_init(&d->loop, &d->stop_timer);
	d->watch.data = d->stop_timer.data = d;
	for (size_t i = 0; i < SIGNALS; i++) {
		(void)uv_signal_init(&d->loop, &d->signals[i]);
		d->signals[i].data = d;
	}
	return HAUL_OK;
}

static haul_status start_handles(struct hauld_daemon *d, struct haul_fault *fault)
{
	int err = 0;

	for (size_t i = 0; i < SIGNALS && !err; i++)
		err = uv_signal_start(&d->signals[i], on_signal, signal_numbers[i]);
	if (err)
		return haul_fault_set(fault, HAUL_IO, "signals cannot be received: %s", uv_strerror(err));
	err = uv_fs_event_start(&d->watch, on_home_changed, d->home.config_dir, 0);
	if (err)
		haul_log(HAUL_LOG_ERROR, "changes of the home are not seen (%s): send SIGHUP after each",
			 uv_strerror(err));
	return HAUL_OK;
}

/* Whatever has a handle goes; then the loop has nothing left and can be closed. */
static void close_loop(struct hauld_daemon *d)
{
	size_t listeners = d->is_stopping ? 0 : d->listener_count;
	int err;

	d->is_stopping = true;
	for (size_t i = 0; i < listeners; i++)
		listener_close(d->listeners[i], on_listener_closed, d);
	close_rest(d);
	(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	err = uv_loop_close(&d->loop);
	assert(!err);
}

static haul_status open_tls(struct hauld_daemon *d, struct haul_fault *fault)
{
	struct tls_config_options options = { .identity = d->identity, .is_known = is_known, .ctx = d };

	return tls_config_new(&options, &d->server.tls, fault);
}

static haul_status open_identity(struct hauld_daemon *d, struct haul_fault *fault)
{
	int dir_fd;
	haul_status st = home_open_config(&d->home, &dir_fd, fault);

	if (haul_failed(st))
		return st;
	st = identity_open(dir_fd, &d->identity, fault);
	close(dir_fd);
	return st;
}

static void fill_server(struct hauld_daemon *d, const struct hauld_options *o)
{
	d->server.loop = &d->loop;
	d->server.home = &d->home;
	d->server.budget_bytes = o->budget_bytes;
	d->server.backend = o->backend;
	d->server.on_authenticated = on_authenticated;
	d->server.authenticated_ctx = d;
	server_open(&d->server);
	load_lists(d);
}

static void close_trace(struct hauld_daemon *d)
{
	struct haul_fault fault;

	if (haul_failed(trace_close(d->server.trace, &fault)))
		haul_log(HAUL_LOG_WARNING, "%s", fault.text);
	d->server.trace = NULL;
}

static haul_status daemon_open(struct hauld_daemon *d, const struct hauld_options *o, struct haul_fault *fault)
{
	haul_status st = o->is_system ? home_open_system(&d->home, fault) : home_open(&d->home, o->home, fault);

	if (haul_failed(st))
		return st;
	st = agent_lock_open(&d->lock, d->home.state_dir, fault);
	if (haul_failed(st))
		goto close_home;
	st = open_identity(d, fault);
	if (haul_failed(st))
		goto close_lock;
	st = open_tls(d, fault);
	if (haul_failed(st))
		goto free_identity;
	st = open_loop(d, fault);
	if (haul_failed(st))
		goto free_tls;
	fill_server(d, o);
	st = start_handles(d, fault);
	if (haul_ok(st) && o->trace && haul_failed(trace_open(o->trace, &d->server.trace, fault)))
		st = fault->status = HAUL_USAGE; /* a bad option, like any other */
	if (haul_ok(st))
		st = open_listeners(d, o, fault);
	if (haul_failed(st))
		goto close_loop;
	return HAUL_OK;

close_loop:
	close_loop(d);
	close_trace(d);
	peers_free(&d->server.peers);
	shares_free(&d->server.shares);
free_tls:
	tls_config_free(d->server.tls);
free_identity:
	identity_free(d->identity);
close_lock:
	agent_lock_close(&d->lock);
close_home:
	home_close(&d->home);
	return st;
}

haul_status hauld_daemon_new(const struct hauld_options *options, struct hauld_daemon **ret_daemon,
			     struct haul_fault *fault)
{
	struct hauld_daemon *d = calloc(1, sizeof(*d));
	haul_status st;

	if (!d)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	st = daemon_open(d, options, fault);
	if (haul_failed(st)) {
		free(d);
		return st;
	}
	d->has_sessions = true;
	*ret_daemon = d;
	return HAUL_OK;
}

static void announce(struct hauld_daemon *d)
{
	char addresses[ADDRESSES_MAX];
	struct haul_fault fault;
	size_t used = 0;

	for (size_t i = 0; i < d->listener_count; i++) {
		const char *text = listener_address_text(d->listeners[i]);

		if (printf("listening %s\n", text) < 0)
			haul_log(HAUL_LOG_INFO, "listening %s", text);
		used += (size_t)snprintf(addresses + used, sizeof(addresses) - used, "%s%s", i ? " " : "", text);
		assert(used < sizeof(addresses));
	}
	if (haul_failed(agent_lock_publish(&d->lock, addresses, &fault)))
		haul_log(HAUL_LOG_WARNING, "%s", fault.text);
	/* Last: whoever reads it may look into the agent's file at once. */
	(void)fflush(stdout);
	notify_manager("READY=1");
}

void hauld_daemon_run(struct hauld_daemon *d)
{
	announce(d);
	(void)uv_run(&d->loop, UV_RUN_DEFAULT);
}

void hauld_daemon_free(struct hauld_daemon *d)
{
	close_loop(d);
	close_trace(d);
	peers_free(&d->server.peers);
	shares_free(&d->server.shares);
	tls_config_free(d->server.tls);
	identity_free(d->identity);
	agent_lock_close(&d->lock);
	home_close(&d->home);
	free(d);
}
