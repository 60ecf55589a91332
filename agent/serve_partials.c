/*
 * LIST of partials: what interrupted jobs have left in a share, below a path. Their data stays closed; whom a partial
 * comes from is told to that device alone. One page is as many as fit into a message.
 */
#include "agent/serve_entries.h"

#include "engine/beneath.h"
#include "engine/kept_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/* What one takes in a LISTING besides its path, at most. */
	PARTIAL_OVERHEAD_BYTES = 96,
	PAGE_BYTES_MAX = MESSAGE_BYTES_MAX - 1024,
	PAGE_PARTIALS = MESSAGE_LISTING_MAX / 4, /* enough for one to look at */
};

_Static_assert(sizeof(((struct leaf_look *)0)->path) == MESSAGE_PARTIAL_PATH_MAX + 1,
	       "a path that is noted can be told");

struct page {
	struct serve_ask *ask;
	size_t bytes;
	haul_status status;
};

/* In the directory that was asked for, or it itself. One whose path is not known lies in the share. */
static bool is_below(const char *path, struct text top)
{
	return !top.len || (strncmp(path, top.at, top.len) == 0 && (path[top.len] == '/' || path[top.len] == '\0'));
}

static haul_status copy(struct serve_ask *a, const struct kept_partial *k)
{
	struct listing_partial *to = &a->partials[a->partial_count];
	char *id = strdup(k->id), *path = strdup(k->of.path);

	if (!id || !path) {
		free(id);
		free(path);
		return HAUL_NO_MEMORY;
	}
	*to = (struct listing_partial){ .id = { id, KEPT_ID_CHARS },
					.path = { path, strlen(path) },
					.size = k->of.source.size,
					.there_bytes = k->of.there_bytes,
					.touched_s = k->touched_s,
					.is_yours =
					    !memcmp(k->of.source.owner.peer_id, a->device_id, sizeof(a->device_id)) };
	a->partial_count++;
	return HAUL_OK;
}

static bool take(void *ctx, const struct kept_partial *k)
{
	struct page *p = ctx;
	struct serve_ask *a = p->ask;

	if (!is_below(k->of.path, a->paths[0]))
		return true;
	p->bytes += strlen(k->of.path) + PARTIAL_OVERHEAD_BYTES;
	if (a->partial_count == PAGE_PARTIALS || p->bytes > PAGE_BYTES_MAX) {
		a->answer.listing.has_more = true;
		return false;
	}
	p->status = copy(a, k);
	return haul_ok(p->status);
}

void serve_list_partials(struct serve_ask *a, const struct serve_offer *o, int root_fd)
{
	struct page p = { .ask = a };
	int dir_fd;
	haul_status st = beneath_open(root_fd, a->paths[0].at, O_PATH | O_DIRECTORY, 0, &dir_fd);

	if (haul_failed(st)) {
		serve_refuse(a, st, o);
		return;
	}
	a->partials = calloc(PAGE_PARTIALS, sizeof(*a->partials));
	a->answer = (struct message){ .type = MSG_LISTING };
	st = a->partials ? kept_list(root_fd, dir_fd, a->after.at, take, &p) : HAUL_NO_MEMORY;
	(void)close(dir_fd);
	if (haul_ok(st))
		st = p.status;
	a->answer.listing.partials = a->partials;
	a->answer.listing.partial_count = a->partial_count;
	if (haul_failed(st))
		serve_refuse(a, st, o);
}
