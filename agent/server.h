/*
 * What hauld does with a known device's connections: answers its questions, runs its jobs, joins its lanes.
 */
#ifndef HAUL_AGENT_SERVER_H
#define HAUL_AGENT_SERVER_H

#include "agent/channel.h"
#include "agent/home.h"
#include "agent/peers.h"
#include "agent/shares.h"
#include "engine/base/list.h"
#include "engine/device.h"
#include "engine/pool.h"

struct trace;

/*
 * What is shared by all sessions of one hauld. Peers and shares are replaced by hauld when their files change
 * (server_reload), so nobody keeps pointers into them across events; rights are looked up at each use.
 */
struct server {
	uv_loop_t *loop;
	const struct home *home;
	struct tls_config *tls;
	struct peer_list peers;
	struct share_list shares;
	struct list sessions;       /* struct server_session */
	struct list quotas;         /* struct quota, of jobs that are there */
	uint64_t budget_bytes;      /* memory for blocks of all sessions */
	uint64_t reserved_bytes;    /* of it, by the jobs that run */
	struct block_budget budget; /* the same, as the lanes draw on it; opened by server_open() */
	const char *backend;        /* NULL, "ring", "threads" */
	unsigned cores;             /* of this machine; set by server_open() */
	struct device_book book;    /* what has been probed; opened by server_open() */
	struct trace *trace;        /* NULL: off */
	uint32_t join_ms;           /* how long the lanes of a job may take to come; set by server_open() */
	/* Called by the session at a connection's first message: the listener lifts its deadline. */
	void (*on_authenticated)(void *ctx, struct channel *ch);
	void *authenticated_ctx;
	void (*on_stopped)(void *ctx); /* the server's own: set while it stops */
	void *stopped_ctx;
};

/* After loop, home, tls, budget_bytes and backend have been set. */
void server_open(struct server *s);

/* A known device has connected (listener's on_channel): takes the channel. */
void server_take_channel(struct server *s, struct channel *ch, const uint8_t device_id[32]);

/* Peers or shares were read again: sessions of devices that are gone or lost their rights end. */
void server_reload(struct server *s);

/* End every session (ERROR to its peer); on_stopped comes when the last one is gone. */
void server_stop(struct server *s, void (*on_stopped)(void *ctx), void *ctx);

#endif
