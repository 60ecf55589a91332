/*
 * The part that both back ends share: a fixed table of requests, the depth, the event. A request is taken from `free`,
 * waits for engine_submit() and for the depth of its kind, is with the back end until finished, and is free again once
 * drained. What a request took tells the depth how the disk is doing.
 * Nothing is allocated after engine_new(). Fails: no descriptor for the event, no ring where one was asked for.
 */
#include "engine/engine_backend.h"

#include "engine/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static bool engine_is_mine(const struct engine *e)
{
	return pthread_equal(e->owner, pthread_self()) != 0;
}

void engine_event_set(struct engine *e)
{
	uint64_t one = 1;

	while (write(e->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void engine_event_clear(struct engine *e)
{
	uint64_t count;

	while (read(e->event_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static void kind_open(struct engine_kind *k, const struct engine_depth *d, unsigned depth)
{
	unsigned most = d->most && d->most < depth ? d->most : depth;

	depth_open(&k->depth, d->first && d->first < most ? d->first : most, most);
	list_init(&k->waiting);
}

static haul_status backend_open(struct engine *e, enum engine_backend wanted, struct haul_fault *fault)
{
	struct haul_fault why = { .status = HAUL_OK };
	haul_status st = HAUL_UNSUPPORTED;

	if (wanted != ENGINE_THREADS) {
		e->ops = &ring_backend;
		st = e->ops->open(e, &why);
		(void)snprintf(e->text, sizeof(e->text), "io_uring");
	}
	if (haul_ok(st))
		return st;
	if (wanted == ENGINE_RING) {
		if (fault)
			*fault = why;
		return st;
	}
	e->ops = &thread_backend;
	if (wanted == ENGINE_THREADS)
		(void)snprintf(e->text, sizeof(e->text), "threads");
	else
		(void)snprintf(e->text, sizeof(e->text), "threads (%.100s)", why.text);
	return e->ops->open(e, fault);
}

static haul_status requests_open(struct engine *e)
{
	e->requests = calloc(e->depth, sizeof(*e->requests));
	if (!e->requests)
		return HAUL_NO_MEMORY;
	for (unsigned i = 0; i < e->depth; i++) {
		list_init(&e->requests[i].link);
		list_push_back(&e->free, &e->requests[i].link);
	}
	return HAUL_OK;
}

haul_status engine_new(const struct engine_config *cfg, struct engine **ret_engine, struct haul_fault *fault)
{
	struct engine *e;
	haul_status st;

	assert(cfg->depth >= 1 && cfg->depth <= ENGINE_DEPTH_MAX);
	e = calloc(1, sizeof(*e));
	if (!e)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "disk engine");
	e->owner = pthread_self();
	e->depth = cfg->depth;
	kind_open(&e->kinds[0], &cfg->read, e->depth);
	kind_open(&e->kinds[1], &cfg->write, e->depth);
	list_init(&e->free);
	list_init(&e->queued);
	list_init(&e->finished);
	st = requests_open(e);
	if (haul_failed(st)) {
		(void)haul_fault_set(fault, st, "disk engine");
		goto free_engine;
	}
	e->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->event_fd < 0) {
		st = haul_fault_errno(fault, errno, "make the disk engine's event descriptor");
		goto free_requests;
	}
	e->ops = cfg->ops;
	st = e->ops ? e->ops->open(e, fault) : backend_open(e, cfg->backend, fault);
	if (haul_failed(st))
		goto close_event;
	*ret_engine = e;
	return HAUL_OK;

close_event:
	(void)close(e->event_fd);
free_requests:
	free(e->requests);
free_engine:
	free(e);
	return st;
}

/* What never reached the back end is dropped; the rest is waited for, because the kernel writes into its memory. */
static void engine_settle(struct engine *e)
{
	struct pollfd event = { .fd = e->event_fd, .events = POLLIN };
	struct list *link;

	for (;;) {
		while ((link = list_pop_front(&e->kinds[0].waiting)) || (link = list_pop_front(&e->kinds[1].waiting)) ||
		       (link = list_pop_front(&e->queued)) || (link = list_pop_front(&e->finished)))
			e->in_flight--;
		if (e->in_flight == 0)
			return;
		(void)poll(&event, 1, -1);
		e->ops->reap(e);
	}
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	assert(engine_is_mine(e));
	engine_settle(e);
	e->ops->close(e);
	(void)close(e->event_fd);
	free(e->requests);
	free(e);
}

int engine_event_fd(const struct engine *e)
{
	return e->event_fd;
}

static haul_status engine_queue(struct engine *e, const struct engine_request *args)
{
	struct engine_request *r;
	struct list *link;
	haul_status st;

	assert(engine_is_mine(e));
	link = list_pop_front(&e->free);
	if (!link)
		return HAUL_BUSY;
	r = list_item(link, struct engine_request, link);
	*r = *args;
	list_init(&r->link);
	st = engine_request_open(r);
	if (haul_failed(st)) {
		list_push_back(&e->free, &r->link);
		return st;
	}
	list_push_back(&e->kinds[r->is_write].waiting, &r->link);
	e->kinds[r->is_write].pending++;
	e->in_flight++;
	return HAUL_OK;
}

haul_status engine_read(struct engine *e, struct disk_file *file, void *buf, size_t len, uint64_t offset, void *tag)
{
	return engine_queue(
	    e, &(struct engine_request){ .file = file, .buf = buf, .len = len, .offset = offset, .done.tag = tag });
}

haul_status engine_write(struct engine *e, struct disk_file *file, void *buf, size_t len, uint64_t offset, void *tag)
{
	return engine_queue(
	    e, &(struct engine_request){
		   .file = file, .buf = buf, .len = len, .offset = offset, .is_write = true, .done.tag = tag });
}

/* As many as the depth allows, the oldest first. */
static void kind_submit(struct engine *e, struct engine_kind *k, uint64_t now_ns)
{
	while (k->flying < k->depth.now && !list_is_empty(&k->waiting)) {
		struct engine_request *r = list_item(list_pop_front(&k->waiting), struct engine_request, link);

		r->started_ns = now_ns;
		k->flying++;
		list_push_back(&e->queued, &r->link);
	}
	if (k->flying < k->depth.now)
		depth_idle(&k->depth);
}

void engine_submit(struct engine *e)
{
	uint64_t now_ns = clock_now_ns();

	assert(engine_is_mine(e));
	kind_submit(e, &e->kinds[0], now_ns);
	kind_submit(e, &e->kinds[1], now_ns);
	if (!list_is_empty(&e->queued))
		e->ops->submit(e);
}

static void kind_done(struct engine *e, const struct engine_request *r, uint64_t now_ns)
{
	struct engine_kind *k = &e->kinds[r->is_write];

	k->flying--;
	k->pending--;
	if (haul_ok(r->done.status))
		(void)depth_done(&k->depth, now_ns, now_ns - r->started_ns, r->done.bytes);
}

unsigned engine_drain(struct engine *e, struct engine_done *ret_done, unsigned max)
{
	uint64_t now_ns = clock_now_ns();
	unsigned n = 0;

	assert(engine_is_mine(e));
	e->ops->reap(e);
	while (n < max && !list_is_empty(&e->finished)) {
		struct list *link = list_pop_front(&e->finished);
		const struct engine_request *r = list_item(link, struct engine_request, link);

		kind_done(e, r, now_ns);
		ret_done[n++] = r->done;
		list_push_back(&e->free, link);
	}
	e->in_flight -= n;
	if (!list_is_empty(&e->finished))
		engine_event_set(e);
	return n;
}

unsigned engine_in_flight(const struct engine *e)
{
	return e->in_flight;
}

unsigned engine_pending(const struct engine *e, bool is_write)
{
	return e->kinds[is_write].pending;
}

bool engine_has_room(const struct engine *e, bool is_write)
{
	return e->kinds[is_write].pending < e->kinds[is_write].depth.now;
}

unsigned engine_depth_now(const struct engine *e, bool is_write)
{
	return e->kinds[is_write].depth.now;
}

enum engine_backend engine_backend_of(const char *name)
{
	if (name && !strcmp(name, "ring"))
		return ENGINE_RING;
	return name && !strcmp(name, "threads") ? ENGINE_THREADS : ENGINE_AUTO;
}

const char *engine_backend_text(const struct engine *e)
{
	return e->text;
}
