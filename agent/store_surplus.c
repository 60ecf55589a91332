/*
 * What only the destination has is found when a directory ends: its own names against those announced. Verify tells it;
 * a sync notes it for its end (mirror.h).
 */
#include "agent/store_surplus.h"

#include "agent/mirror.h"
#include "agent/store_choice.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_BYTES_MAX = 128 * 1024 * 1024 }; /* of one directory, kept until its end */

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool note_name(struct dir_node *d, const char *name)
{
	d->name_bytes += strlen(name) + sizeof(char *);
	if (d->name_bytes > NAMES_BYTES_MAX)
		return false;
	if (d->name_count == d->name_cap) {
		size_t cap = d->name_cap ? d->name_cap * 2 : 16;
		char **names = realloc(d->names, cap * sizeof(*names));

		if (!names)
			return false;
		d->names = names;
		d->name_cap = cap;
	}
	d->names[d->name_count] = strdup(name);
	return d->names[d->name_count] && ++d->name_count;
}

bool store_note_name(const struct recv_entry *e)
{
	return note_name(e->dir, last_name(e->path));
}

bool store_note_in_the_way(const struct store *s, const struct recv_entry *e)
{
	const char *name = last_name(e->path);

	if (mirror_protects(name))
		return false;
	mirror_note(s->cfg.mirror, e->dir->path, name, &e->seen, false);
	return true;
}

/* ---- the end of a directory ---- */

struct dir_end {
	struct mail mail;
	struct store *store;
	struct receiver *receiver;
	struct dir_node *dir;
	char **surplus;
	size_t count, cap;
	haul_status status;
	bool is_blind; /* the source's directory could not be read whole */
};

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Problems are announced out of order. */
static void sort_names(struct dir_node *d)
{
	if (d->has_unsorted)
		qsort(d->names, d->name_count, sizeof(*d->names), by_bytes);
}

static bool was_announced(const struct dir_node *d, const char *name)
{
	return d->name_count && bsearch(&name, d->names, d->name_count, sizeof(*d->names), by_bytes);
}

static bool add_surplus(struct dir_end *end, const char *name)
{
	if (end->count == end->cap) {
		size_t cap = end->cap ? end->cap * 2 : 16;
		char **more = realloc(end->surplus, cap * sizeof(*more));

		if (!more)
			return false;
		end->surplus = more;
		end->cap = cap;
	}
	end->surplus[end->count] = strdup(name);
	return end->surplus[end->count] && ++end->count;
}

/* For a sync. What is mounted there is not the job's. */
static haul_status note_surplus(const struct store *s, const struct dir_end *end, int dir_fd, const char *name)
{
	const struct surplus at = { .dir = end->dir->path, .dir_fd = dir_fd, .name = name, .is_blind = end->is_blind };
	struct entry_facts facts;
	haul_status st;
	int fd = -1;

	if (mirror_protects(name))
		return HAUL_OK;
	st = beneath_stat_at(dir_fd, name, &facts);
	if (haul_failed(st))
		return st.code == HAUL_CODE_NOT_FOUND ? HAUL_OK : st;
	if (facts.kind == ENTRY_DIRECTORY) {
		st = beneath_open_child(dir_fd, name, O_PATH | O_DIRECTORY, &fd);
		if (haul_ok(st))
			(void)close(fd);
		if (st.code == HAUL_CODE_CROSS_DEVICE)
			return HAUL_OK;
	}
	return store_choice_note(s, &at, &facts);
}

static haul_status take_surplus(const struct store *s, struct dir_end *end, int dir_fd, const char *name)
{
	if (s->cfg.mirror)
		return note_surplus(s, end, dir_fd, name);
	return add_surplus(end, name) ? HAUL_OK : HAUL_NO_MEMORY;
}

/* By the user's choice, at the source. */
static bool is_left_out(const struct store *s, const struct dir_end *end, int dir_fd, const struct dirent *de)
{
	const struct surplus at = { .dir = end->dir->path, .dir_fd = dir_fd, .name = de->d_name };

	return s->cfg.choice &&
	       store_choice_protects(s, &at, store_choice_is_directory(dir_fd, de->d_name, de->d_type));
}

static void list_surplus(const struct store *s, struct dir_end *end, DIR *dir)
{
	struct dirent *de;

	sort_names(end->dir);
	for (errno = 0; (de = readdir(dir)); errno = 0) {
		/* "." and ".." fail the check, and so do haul's own names */
		if (haul_failed(haul_component_check(de->d_name, strlen(de->d_name))))
			continue;
		if (was_announced(end->dir, de->d_name) || is_left_out(s, end, dirfd(dir), de))
			continue;
		end->status = take_surplus(s, end, dirfd(dir), de->d_name);
		if (haul_failed(end->status))
			return;
	}
	if (errno)
		end->status = haul_status_from_errno(errno);
	if (end->count)
		qsort(end->surplus, end->count, sizeof(*end->surplus), by_bytes);
}

static void find_surplus(struct store *s, struct dir_end *end)
{
	int fd = -1;
	DIR *dir;

	if (end->dir->is_missing || end->dir->is_held || end->dir->is_partial || haul_failed(end->dir->broken))
		return;
	if (end->dir->has_lost_names) {
		end->status = HAUL_NO_MEMORY;
		return;
	}
	end->status = beneath_open(s->cfg.root_fd, end->dir->path, O_RDONLY | O_DIRECTORY, 0, &fd);
	if (haul_failed(end->status))
		return;
	dir = fdopendir(fd);
	if (!dir) {
		end->status = haul_status_from_errno(errno);
		(void)close(fd);
		return;
	}
	list_surplus(s, end, dir);
	(void)closedir(dir);
}

static void deliver_found(struct mail *m, void *ctx)
{
	struct dir_end *end = list_item(m, struct dir_end, mail);

	(void)ctx;
	end->store->on_dir_end(end->receiver, end->dir, end->status, end->surplus, end->count);
	free(end);
}

static void deliver_dir_end(struct mail *m, void *ctx)
{
	struct dir_end *end = list_item(m, struct dir_end, mail);
	struct store *s = ctx;

	if (s->cfg.verb == JOB_VERIFY || (s->cfg.mirror && (*end->dir->path || s->cfg.mirrors_root)))
		find_surplus(s, end);
	if (s->cfg.mirror && haul_failed(end->status))
		mirror_note_lost(s->cfg.mirror, end->status);
	end->mail.deliver = deliver_found;
	worker_answer(&s->worker, s->cfg.main, &end->mail);
}

haul_status store_dir_end(struct store *s, struct receiver *r, struct dir_node *d, bool is_complete)
{
	struct dir_end *end = calloc(1, sizeof(*end));

	if (!end)
		return HAUL_NO_MEMORY;
	*end = (struct dir_end){
		.mail.deliver = deliver_dir_end, .store = s, .receiver = r, .dir = d, .is_blind = !is_complete
	};
	worker_post(&s->worker, &end->mail);
	return HAUL_OK;
}

struct left_out {
	struct mail mail;
	struct dir_node *dir;
	char name[];
};

static void deliver_left_out(struct mail *m, void *ctx)
{
	struct left_out *l = list_item(m, struct left_out, mail);

	(void)ctx;
	l->dir->has_lost_names |= !note_name(l->dir, l->name);
	l->dir->has_unsorted = true;
	free(l);
}

haul_status store_left_out(struct store *s, struct dir_node *d, const struct text *name)
{
	struct left_out *l = malloc(sizeof(*l) + name->len + 1);

	if (!l)
		return HAUL_NO_MEMORY;
	*l = (struct left_out){ .mail.deliver = deliver_left_out, .dir = d };
	memcpy(l->name, name->at, name->len);
	l->name[name->len] = '\0';
	worker_post(&s->worker, &l->mail);
	return HAUL_OK;
}
