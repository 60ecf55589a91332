/* One stat per directory says on which file system its files go; each is measured once. */
#include "agent/store_room.h"

#include "agent/store.h"
#include "engine/room.h"
#include "peer-protocol/lane_frame.h"

#include <fcntl.h>
#include <unistd.h>

enum { NOT_LOOKED_AT = 0, NOT_COUNTED = UINT8_MAX }; /* of dir_node.room; else 1 + its place in the list */

/* False: the file system does not tell. */
static bool measure(const struct store *s, const char *path, uint64_t *ret_free)
{
	uint64_t total = 0;
	int fd = s->cfg.root_fd;
	bool is_told;

	if (*path && haul_failed(beneath_open(s->cfg.root_fd, path, O_PATH | O_DIRECTORY, 0, &fd)))
		return false;
	is_told = haul_ok(room_of(fd, ret_free, &total)) && total > 0;
	if (*path)
		(void)close(fd);
	return is_told;
}

static uint8_t look(struct store *s, const struct dir_node *d)
{
	struct store_room *room = &s->room;
	struct entry_facts facts;
	uint64_t free_bytes;

	if (haul_failed(place_stat(s->cfg.place, d->path, &facts)))
		return NOT_COUNTED;
	for (unsigned i = 0; i < room->count; i++) {
		if (room->of[i].device == facts.device)
			return (uint8_t)(i + 1);
	}
	if (room->count == STORE_ROOMS_MAX || !measure(s, d->path, &free_bytes))
		return NOT_COUNTED;
	room->of[room->count].device = facts.device;
	room->of[room->count].free_bytes = free_bytes;
	return (uint8_t)++room->count;
}

/* What has to be found for it, beyond what is there. */
static uint64_t new_bytes(const struct store *s, const struct recv_entry *e)
{
	bool is_big = e->facts.size > LANE_PACK_FILE_MAX;
	uint64_t there = e->has_seen && e->seen.kind == ENTRY_FILE ? e->seen.size : 0;

	if (e->is_sparse || (is_big && s->cfg.may_clone && e->origin.at.path))
		return 0;
	if (is_big)
		there += place_kept_bytes(s->cfg.place, e->path);
	return e->facts.size > there ? e->facts.size - there : 0;
}

bool store_room_takes(struct store *s, const struct recv_entry *e)
{
	uint64_t bytes = s->cfg.place ? new_bytes(s, e) : 0, *need;

	if (!bytes)
		return true;
	if (e->dir->room == NOT_LOOKED_AT)
		e->dir->room = look(s, e->dir);
	if (e->dir->room == NOT_COUNTED)
		return true;
	need = &s->room.of[e->dir->room - 1].need_bytes;
	*need = bytes < UINT64_MAX - *need ? *need + bytes : UINT64_MAX;
	return *need <= s->room.of[e->dir->room - 1].free_bytes;
}

void store_room_lacks(const struct store *s, uint64_t *ret_need, uint64_t *ret_free)
{
	*ret_need = *ret_free = 0;
	for (unsigned i = 0; i < s->room.count && !*ret_need; i++) {
		if (s->room.of[i].need_bytes <= s->room.of[i].free_bytes)
			continue;
		*ret_need = s->room.of[i].need_bytes;
		*ret_free = s->room.of[i].free_bytes;
	}
}
