/* A handle of the directory, and the engine's list. */
#include "agent/listing_partials.h"

#include "agent/exit_class.h"
#include "agent/listing_parts.h"
#include "agent/peers.h"
#include "engine/kept_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct telling {
	const struct listing_observer *obs;
	const struct peer_list *peers;
};

static bool tell(void *ctx, const struct kept_partial *k)
{
	const struct telling *t = ctx;
	const struct peer *peer = peers_find_id(t->peers, k->of.source.owner.peer_id);
	const struct remote_partial partial = { .id = k->id,
						.path = k->of.path,
						.path_len = strlen(k->of.path),
						.size = k->of.source.size,
						.there_bytes = k->of.there_bytes,
						.touched_s = k->touched_s,
						.from = peer ? peer->name : NULL };

	t->obs->on_partial(t->obs->ctx, &partial);
	return true;
}

int listing_partials_local(const struct home *h, const char *path, const struct listing_observer *obs)
{
	struct peer_list peers = { .count = 0 };
	struct telling t = { obs, &peers };
	struct haul_fault fault;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	haul_status st;

	if (fd < 0)
		return listing_local_failed(obs, path, haul_status_from_errno(errno));
	if (haul_failed(peers_load(h, &peers, &fault)))
		peers = (struct peer_list){ .count = 0 }; /* names are a help, no more */
	st = kept_list(fd, fd, "", tell, &t);
	(void)close(fd);
	peers_free(&peers);
	return haul_ok(st) ? EXIT_CLASS_OK : listing_local_failed(obs, path, st);
}
