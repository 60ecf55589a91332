/*
 * Verify compares kinds, link targets and metadata by stat, contents by leaf digests read on both sides. What only the
 * destination has is found when a directory ends: its own names, sorted, against those announced, which come sorted
 * too.
 */
#include "agent/store_verify.h"

#include "engine/scan.h"

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

static void differs(struct recv_entry *e, uint32_t changes)
{
	e->verdict = VERDICT_RESULT;
	e->outcome = OUTCOME_FAILED;
	e->changes |= changes;
}

static void verify_link(struct store *s, struct recv_entry *e)
{
	char *target = NULL;
	size_t len = 0;
	haul_status st = place_read_link(s->cfg.place, e->path, &target, &len);

	if (haul_failed(st) || len != e->link_target_len || memcmp(target, e->link_target, len) != 0)
		differs(e, CHANGE_CONTENT);
	free(target);
}

void store_verify_look(struct store *s, struct recv_entry *e)
{
	e->verdict = VERDICT_RESULT;
	e->outcome = OUTCOME_PROVEN;
	if (!note_name(e->dir, last_name(e->path))) {
		e->outcome = OUTCOME_FAILED;
		e->code = HAUL_NO_MEMORY;
		return;
	}
	if (!e->has_seen) {
		differs(e, CHANGE_MISSING);
		if (e->node)
			e->node->is_missing = true;
		return;
	}
	if (e->seen.kind != e->facts.kind) {
		differs(e, CHANGE_KIND | CHANGE_CONTENT);
		if (e->node)
			e->node->is_missing = true;
		return;
	}
	e->changes = store_meta_changes(s, e);
	if (e->facts.kind == ENTRY_LINK)
		verify_link(s, e);
	if (e->facts.kind == ENTRY_FILE) {
		e->verdict = VERDICT_DIGESTS;
		e->changes |= e->seen.size != e->facts.size ? CHANGE_SIZE : 0;
	}
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
};

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
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

static void list_surplus(struct dir_end *end, DIR *dir)
{
	struct dirent *de;

	for (errno = 0; (de = readdir(dir)); errno = 0) {
		/* "." and ".." fail the check, and so do haul's own names */
		if (haul_failed(haul_component_check(de->d_name, strlen(de->d_name))))
			continue;
		if (!was_announced(end->dir, de->d_name) && !add_surplus(end, de->d_name)) {
			end->status = HAUL_NO_MEMORY;
			return;
		}
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

	if (end->dir->is_missing)
		return;
	end->status = beneath_open(s->cfg.root_fd, end->dir->path, O_RDONLY | O_DIRECTORY, 0, &fd);
	if (haul_failed(end->status))
		return;
	dir = fdopendir(fd);
	if (!dir) {
		end->status = haul_status_from_errno(errno);
		(void)close(fd);
		return;
	}
	list_surplus(end, dir);
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

	if (s->cfg.verb == JOB_VERIFY)
		find_surplus(s, end);
	end->mail.deliver = deliver_found;
	worker_answer(&s->worker, s->cfg.main, &end->mail);
}

haul_status store_dir_end(struct store *s, struct receiver *r, struct dir_node *d)
{
	struct dir_end *end = calloc(1, sizeof(*end));

	if (!end)
		return HAUL_NO_MEMORY;
	*end = (struct dir_end){ .mail.deliver = deliver_dir_end, .store = s, .receiver = r, .dir = d };
	worker_post(&s->worker, &end->mail);
	return HAUL_OK;
}
