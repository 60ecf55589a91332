/*
 * What the peer lets us do, and probes (probe.h) as far as that goes. A probe begins small and grows until it takes
 * about a second, since the rate is not known before.
 */
#include "agent/diagnose_parts.h"

#include "agent/exit_class.h"
#include "agent/listing.h"
#include "agent/peer_error.h"
#include "agent/stop_signals.h"
#include "certs/rights.h"
#include "peer-protocol/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROBE_FIRST (UINT64_C(4) << 20)
#define PROBE_GROWTH 32

static void on_peer(void *ctx, const char *name, const char *software, const char *address, const char *known_as)
{
	struct diagnosis *d = ctx;

	(void)software;
	(void)address;
	(void)snprintf(d->offer.peer_name, sizeof(d->offer.peer_name), "%s", name);
	(void)snprintf(d->offer.known_as, sizeof(d->offer.known_as), "%s", known_as ? known_as : "");
}

static void on_share(void *ctx, const struct remote_share *s)
{
	struct diagnosis *d = ctx;

	if (d->offer.count < MESSAGE_SHARES_MAX) {
		char *copy = strdup(s->name);

		if (copy)
			d->offer.names[d->offer.count++] = (struct text){ copy, strlen(copy) };
	}
	if (strcmp(s->name, d->req->peer->share) != 0)
		return;
	d->found_share = true;
	d->rights = s->rights;
	d->free_bytes = s->free_bytes;
}

static void on_listed(void *ctx, const struct remote_entry *e)
{
	struct diagnosis *d = ctx;

	if (e->kind != ENTRY_FILE || e->size < DIAGNOSE_BIG_BYTES || e->size <= d->big_bytes ||
	    e->name_len > HAUL_NAME_MAX)
		return;
	d->big_bytes = e->size;
	memcpy(d->big_name, e->name, e->name_len);
	d->big_name[e->name_len] = '\0';
}

static void on_share_error(void *ctx, const struct transfer_problem *p)
{
	struct diagnosis *d = ctx;

	d->is_over = true;
	if (!d->report->exit_code)
		d->report->exit_code = p->exit_code;
	if (d->obs->on_error)
		d->obs->on_error(d->obs->ctx, p);
}

static void on_list_error(void *ctx, const struct transfer_problem *p)
{
	struct diagnosis *d = ctx;

	(void)p;
	d->lists_failed = true;
}

static void take_big_path(struct diagnosis *d)
{
	const char *dir = d->req->peer->path;
	const char *slash = strrchr(dir, '/');
	const char *base = slash ? slash + 1 : dir;
	bool is_itself = *dir && !strcmp(base, d->big_name); /* a file is listed as itself */

	if (!d->big_bytes)
		return;
	if (is_itself)
		d->big_path = strdup(dir);
	else if (asprintf(&d->big_path, "%s%s%s", dir, *dir ? "/" : "", d->big_name) < 0)
		d->big_path = NULL;
}

/* In the words a transfer would be refused with. */
static void refuse_share(struct diagnosis *d)
{
	const struct diagnose_offer *o = &d->offer;
	const struct msg_error e = { .code = HAUL_CODE_NO_SHARE,
				     .share = { d->req->peer->share, strlen(d->req->peer->share) },
				     .your_name = { o->known_as, strlen(o->known_as) },
				     .offered = o->names,
				     .offered_count = o->count };
	struct peer_error why;

	peer_error_explain(&e, o->peer_name, &why);
	diagnose_tell_error(d, why.status, o->peer_name, why.text, why.remedy);
	d->is_over = true;
}

void diagnose_forget_offer(struct diagnosis *d)
{
	while (d->offer.count)
		free((char *)(uintptr_t)d->offer.names[--d->offer.count].at);
}

/* Rights and room; then something to read, if we may. */
void diagnose_ask_peer(struct diagnosis *d)
{
	struct place_spec shares = *d->req->peer;
	struct listing_observer obs = {
		.ctx = d, .on_peer = on_peer, .on_share = on_share, .on_entry = on_listed, .on_error = on_share_error
	};

	shares.share = NULL;
	shares.path = (char *)(uintptr_t) "";
	(void)listing_run(d->home, &shares, d->req->connect_timeout_ms, &obs);
	if (d->is_over)
		return;
	if (!d->found_share) {
		refuse_share(d);
		return;
	}
	if (~d->rights & (RIGHT_LIST | RIGHT_READ))
		return;
	obs.on_error = on_list_error;
	(void)listing_run(d->home, d->req->peer, d->req->connect_timeout_ms, &obs);
	take_big_path(d);
}

/* ---- with the peer ---- */

static struct probe_config probe_config(const struct diagnosis *d)
{
	return (struct probe_config){ .home = d->home,
				      .place = d->req->peer,
				      .source_fd = -1,
				      .lanes = d->req->lanes,
				      .block_bytes = d->req->block_bytes,
				      .bandwidth_bytes_per_s = d->req->bandwidth_bytes_per_s,
				      .connect_timeout_ms = d->req->connect_timeout_ms,
				      .backend = engine_backend_of(d->req->backend),
				      .direct = (enum direct_mode)d->req->direct,
				      .trace = d->trace,
				      .stop = stop_signals_flag() };
}

static uint64_t next_bytes(uint64_t bytes, const struct probe_result *r, uint64_t max)
{
	double wanted = r->seconds > 0 ? (double)r->bytes / r->seconds * DIAGNOSE_STAGE_S : (double)max;
	uint64_t next = wanted < (double)(bytes * PROBE_GROWTH) ? (uint64_t)wanted : bytes * PROBE_GROWTH;

	next = (next + MESSAGE_PROBE_MIN - 1) / MESSAGE_PROBE_MIN * MESSAGE_PROBE_MIN;
	return next > max ? max : next;
}

/* Longer and longer, until it takes about a second: the rate is not known before. */
static haul_status probe(struct diagnosis *d, struct probe_config *cfg, uint64_t max, struct probe_result *r,
			 struct haul_fault *fault)
{
	uint64_t bytes = PROBE_FIRST < max ? PROBE_FIRST : max;

	for (;;) {
		haul_status st;

		cfg->bytes = bytes;
		st = probe_run(cfg, r, fault);
		if (haul_failed(st) || r->seconds >= 0.6 * DIAGNOSE_STAGE_S || bytes == max)
			return st;
		bytes = next_bytes(bytes, r, max);
		if (bytes <= cfg->bytes || diagnose_is_stopped(d))
			return HAUL_OK;
	}
}

static bool is_unreachable(haul_status st)
{
	return exit_class_of(st) == EXIT_CLASS_UNREACHABLE || exit_class_of(st) == EXIT_CLASS_BUG;
}

static bool probe_row(struct diagnosis *d, enum diagnose_stage stage, struct probe_config *cfg, uint64_t max,
		      struct probe_result *r)
{
	struct haul_fault fault = { 0 };
	haul_status st = probe(d, cfg, max, r, &fault);
	struct measured m = { .seconds = r->seconds, .bytes = r->bytes };

	if (diagnose_is_stopped(d))
		return false;
	if (haul_failed(st)) {
		diagnose_row_missing(d, stage, "%.180s", fault.text[0] ? fault.text : haul_status_text(st));
		if (is_unreachable(st)) {
			diagnose_tell_error(d, st, "local", fault.text, r->remedy);
			d->is_over = true;
		}
		return false;
	}
	memcpy(d->report->peer_name, r->peer_name, sizeof(d->report->peer_name));
	d->report->lanes = r->lanes;
	d->report->cores = r->cores;
	d->report->peer_cores = r->peer_cores;
	if (r->round_trip_us)
		d->report->round_trip_us = r->round_trip_us;
	diagnose_row_measured(d, stage, &m, "%u lane%s, encrypted and checked%s", r->lanes, r->lanes == 1 ? "" : "s",
			      cfg->is_to_disk && cfg->is_push ? ", synced, removed" : "");
	return true;
}

void diagnose_network(struct diagnosis *d)
{
	struct probe_config cfg = probe_config(d);
	struct probe_result r;

	cfg.is_push = true;
	d->has_network = probe_row(d, DIAGNOSE_TO_PEER, &cfg, MESSAGE_PROBE_MAX, &d->network);
	if (diagnose_is_stopped(d))
		return;
	cfg.is_push = false;
	(void)probe_row(d, DIAGNOSE_FROM_PEER, &cfg, MESSAGE_PROBE_MAX, &r);
}

/* What the peer lets us write, with air for what others write meanwhile. */
static uint64_t disk_max(const struct diagnosis *d)
{
	uint64_t room = d->free_bytes / 5;

	return room < MESSAGE_PROBE_DISK_MAX ? room : MESSAGE_PROBE_DISK_MAX;
}

static bool may_write(struct diagnosis *d, enum diagnose_stage stage)
{
	if (!(d->rights & RIGHT_CREATE))
		diagnose_row_missing(d, stage, "this device has no \"create\" on %s", d->req->peer->share);
	else if (disk_max(d) < PROBE_FIRST)
		diagnose_row_missing(d, stage, "too little is free there");
	else
		return true;
	return false;
}

void diagnose_peer_disk(struct diagnosis *d)
{
	struct probe_config cfg = probe_config(d);
	struct probe_result r;

	cfg.is_to_disk = cfg.is_push = true;
	if (may_write(d, DIAGNOSE_PEER_WRITE))
		(void)probe_row(d, DIAGNOSE_PEER_WRITE, &cfg, disk_max(d), &r);
	if (diagnose_is_stopped(d))
		return;
	cfg.is_push = false;
	cfg.path = d->big_path;
	if (~d->rights & (RIGHT_LIST | RIGHT_READ))
		diagnose_row_missing(d, DIAGNOSE_PEER_READ, "this device has no \"list\" and \"read\" on %s",
				     d->req->peer->share);
	else if (!cfg.path)
		diagnose_row_missing(d, DIAGNOSE_PEER_READ, "nothing of 64 MiB or more lies there%s",
				     d->lists_failed ? " that can be listed" : "");
	else
		(void)probe_row(d, DIAGNOSE_PEER_READ, &cfg, d->big_bytes, &r);
}

void diagnose_whole(struct diagnosis *d)
{
	struct probe_config cfg = probe_config(d);
	struct stat st;
	uint64_t max = disk_max(d);

	if (d->source_fd < 0 || fstat(d->source_fd, &st)) {
		diagnose_row_missing(d, DIAGNOSE_WHOLE, "there is nothing to read here");
		return;
	}
	if (!may_write(d, DIAGNOSE_WHOLE))
		return;
	if ((uint64_t)st.st_size < max)
		max = (uint64_t)st.st_size / MESSAGE_PROBE_MIN * MESSAGE_PROBE_MIN;
	if (max < MESSAGE_PROBE_MIN) {
		diagnose_row_missing(d, DIAGNOSE_WHOLE, "what is read here is too short");
		return;
	}
	cfg.is_to_disk = cfg.is_push = true;
	cfg.source_fd = d->source_fd;
	d->has_whole = probe_row(d, DIAGNOSE_WHOLE, &cfg, max, &d->whole);
}
