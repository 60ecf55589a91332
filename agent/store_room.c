/* One stat per directory says on which file system its files go; each is measured once. */
#include "agent/store_room.h"

#include "agent/job.h"
#include "agent/quota.h"
#include "agent/store.h"
#include "engine/kept_room.h"
#include "engine/room.h"
#include "peer-protocol/lane_frame.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	NOT_LOOKED_AT = 0, /* of dir_node.room; else 1 + its place in the list */
	NOT_COUNTED = UINT8_MAX,
	KEPT_PARTS = 4,     /* one of so many of a file system is a device's own for what it leaves unfinished */
	UNTOUCHED_S = 3600, /* who has just been cut off comes again sooner */
};

/* The directory of the job that a path is in, or will be when a dry run would be none; -1: there is none. ret_fd is
 * given. */
static bool open_directory(const struct store *s, const struct dir_node *d, int *ret_fd)
{
	while (d->is_missing && d->parent)
		d = d->parent;
	if (!s->cfg.place)
		*ret_fd = s->cfg.private_fd < 0 ? -1 : fcntl(s->cfg.private_fd, F_DUPFD_CLOEXEC, 0);
	else if (!*d->path)
		*ret_fd = fcntl(s->cfg.root_fd, F_DUPFD_CLOEXEC, 0);
	else if (haul_failed(beneath_open(s->cfg.root_fd, d->path, O_PATH | O_DIRECTORY, 0, ret_fd)))
		*ret_fd = -1;
	return *ret_fd >= 0;
}

/* The file system behind a directory; NOT_COUNTED: it does not tell, or there are too many. */
static uint8_t measure(struct store *s, int fd)
{
	struct store_room *room = &s->room;
	uint64_t free_bytes, total = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NOT_COUNTED;
	for (unsigned i = 0; i < room->count; i++) {
		if (room->of[i].device == st.st_dev)
			return (uint8_t)(i + 1);
	}
	if (room->count == STORE_ROOMS_MAX || haul_failed(room_of(fd, &free_bytes, &total)) || !total)
		return NOT_COUNTED;
	room->of[room->count].device = st.st_dev;
	room->of[room->count].free_bytes = free_bytes;
	room->of[room->count].total_bytes = total;
	return (uint8_t)++room->count;
}

static uint8_t look(struct store *s, const struct dir_node *d)
{
	uint8_t room = NOT_COUNTED;
	int fd;

	if (open_directory(s, d, &fd)) {
		room = measure(s, fd);
		(void)close(fd);
	}
	return room;
}

static bool is_big(const struct recv_entry *e)
{
	return e->facts.size > LANE_PACK_FILE_MAX;
}

static uint64_t size_there(const struct recv_entry *e)
{
	return e->has_seen && e->seen.kind == ENTRY_FILE ? e->seen.size : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* What has to be found for it, beyond what is there and what is kept. */
static uint64_t new_bytes(const struct store *s, struct recv_entry *e)
{
	uint64_t there = size_there(e);

	if (is_big(e) && s->cfg.may_clone && e->origin.at.path)
		return 0;
	if (is_big(e) && s->cfg.place && !e->dir->is_missing && !e->room.is_counted) /* else it is this job's own */
		e->room.kept_bytes = place_kept_bytes(s->cfg.place, e->path);
	there += e->room.kept_bytes;
	return e->facts.size > there ? e->facts.size - there : 0;
}

/* ---- file systems ---- */

/* HAUL_KEPT_UNTOUCHED_S makes it shorter, for tests. */
static int64_t untouched_s(void)
{
	const char *asked = getenv("HAUL_KEPT_UNTOUCHED_S");
	unsigned long seconds = asked ? strtoul(asked, NULL, 10) : 0;

	return seconds > 0 && seconds < UNTOUCHED_S ? (int64_t)seconds : UNTOUCHED_S;
}

/*
 * What interrupted jobs keep makes room for work, the oldest first, of a device that keeps more than its part of the
 * file system; and only if that helps: what has gone is sent again, what does not fit is not sent at all.
 */
static void make_room(struct store *s, unsigned n, uint64_t lacks)
{
	struct kept_room how = { .want_bytes = lacks,
				 .each_bytes = s->room.of[n].total_bytes / KEPT_PARTS,
				 .untouched_s = untouched_s(),
				 .now_s = (int64_t)time(NULL),
				 .only_looks = true };
	uint64_t bytes;
	struct stat st;

	if (s->cfg.private_fd < 0 || fstat(s->cfg.private_fd, &st) < 0 || st.st_dev != s->room.of[n].device ||
	    haul_failed(kept_make_room(s->cfg.private_fd, &how, &bytes)) || bytes < lacks)
		return;
	how.only_looks = s->cfg.flags & JOB_DRY_RUN;
	if (how.only_looks || haul_ok(kept_make_room(s->cfg.private_fd, &how, &bytes)))
		s->room.of[n].free_bytes = sum(s->room.of[n].free_bytes, bytes);
}

static bool file_system_takes(struct store *s, struct recv_entry *e, uint64_t bytes)
{
	uint64_t *need, *free_bytes;

	if (e->dir->room == NOT_LOOKED_AT)
		e->dir->room = look(s, e->dir);
	if (e->dir->room == NOT_COUNTED)
		return true;
	need = &s->room.of[e->dir->room - 1].need_bytes;
	free_bytes = &s->room.of[e->dir->room - 1].free_bytes;
	*need = sum(*need, bytes);
	e->room.bytes = bytes;
	if (*need > *free_bytes && !s->room.of[e->dir->room - 1].is_full) {
		make_room(s, e->dir->room - 1u, *need - *free_bytes);
		s->room.of[e->dir->room - 1].is_full = *need > *free_bytes;
	}
	return *need <= *free_bytes;
}

/* ---- the quota ---- */

/* Small ones are written without being opened before: they take what they need now. */
static bool quota_takes(struct store *s, struct recv_entry *e, uint64_t bytes)
{
	struct store_room *room = &s->room;

	if (!room->has_quota) {
		room->has_quota = true;
		room->quota_left = quota_left(s->cfg.quota);
	}
	room->quota_need = sum(room->quota_need, bytes);
	e->room.quota_bytes = bytes;
	if (room->quota_need > room->quota_left)
		return false;
	if (is_big(e) || s->cfg.flags & JOB_DRY_RUN || !bytes)
		return true;
	if (!quota_take(s->cfg.quota, bytes)) {
		room->refused = (struct job_lack){ bytes, quota_left(s->cfg.quota), quota_bytes(s->cfg.quota) };
		return false;
	}
	e->quota_held = bytes;
	return true;
}

haul_status store_hold_quota(struct store *s, struct recv_entry *e)
{
	struct quota *q = s->cfg.quota;
	bool is_beside = e->partial.owns_dir;
	uint64_t had = e->partial.had_bytes < e->facts.size ? e->partial.had_bytes : e->facts.size;

	if (!q || e->quota_held)
		return HAUL_OK;
	if (is_beside)
		quota_take_up_beside(q, had);
	if (quota_take(q, is_beside ? e->facts.size : e->facts.size - had)) {
		e->quota_held = e->facts.size;
		return HAUL_OK;
	}
	s->room.refused = (struct job_lack){ e->facts.size - had, quota_left(q), quota_bytes(q) };
	partial_keep(&e->partial);
	if (is_beside)
		quota_leave_beside(q, e->partial.kept_bytes);
	else
		quota_change(q, had, e->partial.kept_bytes);
	return HAUL_QUOTA;
}

void store_leave_quota(struct recv_entry *e)
{
	struct quota *q = e->store ? e->store->cfg.quota : NULL;

	if (!q || !e->quota_held)
		return;
	quota_change(q, e->quota_held, e->partial.kept_beside ? 0 : e->partial.kept_bytes);
	if (e->partial.kept_beside)
		quota_leave_beside(q, e->partial.kept_bytes);
	e->quota_held = 0;
}

/* ---- both ---- */

/* It is looked at again: what it was counts no more. */
static void take_back(struct store *s, struct recv_entry *e)
{
	if (e->room.bytes)
		s->room.of[e->dir->room - 1].need_bytes -= e->room.bytes;
	s->room.quota_need -= e->room.quota_bytes;
	e->room.bytes = e->room.quota_bytes = 0;
}

haul_status store_room_takes(struct store *s, struct recv_entry *e)
{
	uint64_t bytes = new_bytes(s, e);

	take_back(s, e);
	e->room.is_counted = true;
	if (bytes && !e->is_sparse && !file_system_takes(s, e, bytes))
		return HAUL_NO_SPACE;
	return s->cfg.quota && bytes && !quota_takes(s, e, bytes) ? HAUL_QUOTA : HAUL_OK;
}

void store_room_lacks(const struct store *s, struct job_lack *ret_lack)
{
	const struct store_room *room = &s->room;

	*ret_lack = (struct job_lack){ .need_bytes = 0 };
	for (unsigned i = 0; i < room->count && !ret_lack->need_bytes; i++) {
		if (room->of[i].need_bytes > room->of[i].free_bytes)
			*ret_lack = (struct job_lack){ room->of[i].need_bytes, room->of[i].free_bytes, 0 };
	}
	if (ret_lack->need_bytes || !room->has_quota)
		return;
	if (room->quota_need > room->quota_left)
		*ret_lack = (struct job_lack){ room->quota_need, room->quota_left, quota_bytes(s->cfg.quota) };
	else
		*ret_lack = room->refused;
}
