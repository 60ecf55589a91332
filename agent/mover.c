/*
 * renameat2(RENAME_NOREPLACE) is asked first and decides: nothing is looked at before it. Only when it says that a name
 * is taken both entries are looked at. Two names of one inode are never touched: rename(2) would do nothing, and say
 * that it had done it.
 *
 * File systems without RENAME_NOREPLACE say EINVAL: a directory may then be renamed plainly, which never replaces
 * anything but an empty directory; anything else gets its new name by link(2), which never replaces, and loses the old.
 */
#include "agent/mover.h"

#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_MAX = 9999, MERGE_DEPTH_MAX = 200 /* two handles each */ };

static haul_status move_one(struct mover *m, const struct move_place *from, const struct move_place *to,
			    unsigned depth);

static int call_rename_new(int from_fd, const char *from, int to_fd, const char *to)
{
	return renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE);
}

static int call_link_new(int from_fd, const char *from, int to_fd, const char *to)
{
	return linkat(from_fd, from, to_fd, to, 0);
}

const struct mover_calls mover_system_calls = { call_rename_new, renameat, call_link_new, unlinkat };

static bool is_stopped(const struct mover *m)
{
	return m->stop && atomic_load_explicit(m->stop, memory_order_relaxed);
}

static void tell_moved(struct mover *m, const struct move_place *from, const struct move_place *to,
		       enum entry_kind kind)
{
	m->moved++;
	if (m->on_moved)
		m->on_moved(m->ctx, from->shown, to->shown, kind);
}

static void tell_problem(struct mover *m, const struct move_place *from, enum entry_kind kind, haul_status st,
			 const char *why)
{
	struct haul_fault fault;

	m->failed++;
	m->failed_files += kind == ENTRY_FILE;
	(void)haul_fault_set(&fault, st, "%s", why);
	if (m->on_problem)
		m->on_problem(m->ctx, from->shown, kind, &fault);
}

static enum entry_kind kind_at(const struct move_place *p)
{
	struct entry_facts facts;

	return haul_ok(beneath_stat_at(p->dir_fd, p->name, &facts)) ? facts.kind : ENTRY_FILE;
}

/* An errno of a rename: told, unless it means that copying may do what renaming cannot. */
static haul_status refused(struct mover *m, const struct move_place *from, int err)
{
	enum entry_kind kind;

	if (err == EXDEV)
		return HAUL_CROSS_DEVICE;
	kind = kind_at(from);
	tell_problem(m, from, kind, err == ENOENT ? HAUL_VANISHED : haul_status_from_errno(err), strerror(err));
	return HAUL_OK;
}

/* 0 or errno. Without RENAME_NOREPLACE: see above. */
static int rename_new(struct mover *m, const struct move_place *from, const struct move_place *to)
{
	struct entry_facts facts;
	int err;

	if (m->calls->rename_new(from->dir_fd, from->name, to->dir_fd, to->name) == 0)
		return 0;
	err = errno;
	if (err != EINVAL && err != ENOSYS)
		return err;
	if (haul_ok(beneath_stat_at(to->dir_fd, to->name, &facts)))
		return EEXIST;
	if (kind_at(from) == ENTRY_DIRECTORY)
		return m->calls->rename_over(from->dir_fd, from->name, to->dir_fd, to->name) ? errno : 0;
	if (m->calls->link_new(from->dir_fd, from->name, to->dir_fd, to->name))
		return errno == EPERM || errno == EOPNOTSUPP ? EXDEV : errno; /* no hard links there: copying can */
	return m->calls->unlink(from->dir_fd, from->name, 0) ? errno : 0;
}

/* "a/b" from a directory's path and a name; NULL without memory. Given: free(). */
static char *join(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	char *path = NULL;

	return asprintf(&path, "%s%s%s", dir, len && dir[len - 1] != '/' ? "/" : "", name) < 0 ? NULL : path;
}

/* "NAME 2.EXT". A dot at the start is no extension. */
static void numbered(const char *name, unsigned number, char ret_name[HAUL_NAME_MAX + 1])
{
	const char *dot = strrchr(name, '.');
	char tail[32 + HAUL_NAME_MAX];
	size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);
	size_t tail_len = (size_t)snprintf(tail, sizeof(tail), " %u%s", number, name + stem);

	if (tail_len > HAUL_NAME_MAX)
		tail_len = HAUL_NAME_MAX;
	if (stem + tail_len > HAUL_NAME_MAX)
		stem = HAUL_NAME_MAX - tail_len;
	memcpy(ret_name, name, stem);
	memcpy(ret_name + stem, tail, tail_len);
	ret_name[stem + tail_len] = '\0';
}

static haul_status land_numbered(struct mover *m, const struct move_place *from, const struct move_place *to,
				 enum entry_kind kind)
{
	char name[HAUL_NAME_MAX + 1];
	struct move_place at = { .dir_fd = to->dir_fd, .name = name };
	size_t dir_len = strlen(to->shown) - strlen(to->name);
	int err = EEXIST;
	char *shown = NULL;

	for (unsigned i = 2; err == EEXIST && i <= NUMBER_MAX; i++) {
		struct entry_facts facts;

		numbered(to->name, i, name);
		if (m->dry_run)
			err = haul_ok(beneath_stat_at(to->dir_fd, name, &facts)) ? EEXIST : 0;
		else
			err = rename_new(m, from, &at);
	}
	if (err)
		return refused(m, from, err);
	if (asprintf(&shown, "%.*s%s", (int)dir_len, to->shown, name) < 0)
		return HAUL_NO_MEMORY;
	at.shown = shown;
	tell_moved(m, from, &at, kind);
	free(shown);
	return HAUL_OK;
}

static haul_status land_over(struct mover *m, const struct move_place *from, const struct move_place *to,
			     const struct entry_facts *here, const struct entry_facts *there)
{
	if (here->kind == ENTRY_DIRECTORY || there->kind == ENTRY_DIRECTORY) {
		tell_problem(m, from, here->kind, HAUL_WRONG_KIND, "a directory is no replacement, nor replaced");
		return HAUL_OK;
	}
	if (!m->dry_run && m->calls->rename_over(from->dir_fd, from->name, to->dir_fd, to->name))
		return refused(m, from, errno);
	tell_moved(m, from, to, here->kind);
	return HAUL_OK;
}

static int open_dir(const struct move_place *p)
{
	int fd = -1;
	haul_status st = beneath_open_child(p->dir_fd, p->name, O_RDONLY | O_DIRECTORY, &fd);

	if (haul_failed(st))
		errno = st.code == HAUL_CROSS_DEVICE.code ? EXDEV : EACCES;
	return haul_ok(st) ? fd : -1;
}

static haul_status move_contents(struct mover *m, int from_fd, const char *from_shown, int to_fd, const char *to_shown,
				 unsigned depth);

/* Two directories become one. The source's own goes when nothing is left in it. */
static haul_status merge(struct mover *m, const struct move_place *from, const struct move_place *to, unsigned depth)
{
	int from_fd = -1, to_fd = -1;
	haul_status st = HAUL_OK;

	if (depth < MERGE_DEPTH_MAX) {
		from_fd = open_dir(from);
		if (from_fd >= 0)
			to_fd = open_dir(to);
	} else {
		errno = ENAMETOOLONG;
	}
	if (from_fd < 0 || to_fd < 0)
		st = refused(m, from, errno);
	else
		st = move_contents(m, from_fd, from->shown, to_fd, to->shown, depth + 1);
	if (from_fd >= 0)
		(void)close(from_fd);
	if (to_fd >= 0)
		(void)close(to_fd);
	/* Something that stays has been told, or is told by whoever copies it: then the directory is not empty. */
	if (haul_ok(st) && !m->dry_run && m->calls->unlink(from->dir_fd, from->name, AT_REMOVEDIR) &&
	    errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
		tell_problem(m, from, ENTRY_DIRECTORY, haul_status_from_errno(errno), strerror(errno));
	return st;
}

/* The name is taken. */
static haul_status meet(struct mover *m, const struct move_place *from, const struct move_place *to, unsigned depth)
{
	struct entry_facts here, there;

	if (haul_failed(beneath_stat_at(from->dir_fd, from->name, &here)))
		return refused(m, from, ENOENT);
	if (haul_failed(beneath_stat_at(to->dir_fd, to->name, &there)))
		return refused(m, from, EEXIST); /* it has gone again: the next run moves it */
	if (here.device == there.device && here.inode == there.inode) {
		tell_problem(m, from, here.kind, HAUL_EXISTS,
			     "it is the same file as the one there, under another name");
		return HAUL_OK;
	}
	if (here.kind == ENTRY_DIRECTORY && there.kind == ENTRY_DIRECTORY)
		return merge(m, from, to, depth);
	switch (m->rule) {
	case MOVE_FAIL:
		break;
	case MOVE_REPLACE:
		return land_over(m, from, to, &here, &there);
	case MOVE_NUMBER:
		return land_numbered(m, from, to, here.kind);
	}
	tell_problem(m, from, here.kind, HAUL_EXISTS, "the name is taken there");
	return HAUL_OK;
}

/* What a rename would say, without renaming. */
static int would_rename(const struct move_place *from, const struct move_place *to)
{
	struct entry_facts here, there, dir;

	if (haul_failed(beneath_stat_at(from->dir_fd, from->name, &here)))
		return ENOENT;
	if (haul_ok(beneath_stat_at(to->dir_fd, to->name, &there)))
		return EEXIST;
	return haul_ok(beneath_stat_handle(to->dir_fd, &dir)) && dir.device != here.device ? EXDEV : 0;
}

static haul_status move_one(struct mover *m, const struct move_place *from, const struct move_place *to, unsigned depth)
{
	int err = m->dry_run ? would_rename(from, to) : rename_new(m, from, to);

	if (err == EEXIST || err == ENOTEMPTY)
		return meet(m, from, to, depth);
	if (err)
		return refused(m, from, err);
	tell_moved(m, from, to, m->on_moved ? kind_at(m->dry_run ? from : to) : ENTRY_FILE);
	return HAUL_OK;
}

/* All names of a directory, each with its NUL; read before anything moves, since it may move into what is being read.
 */
static haul_status read_names(int fd, char **ret_names, size_t *ret_len)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	char *names = NULL;
	size_t len = 0, cap = 0;
	struct dirent *de;

	if (!dir) {
		haul_status st = haul_status_from_errno(errno);

		if (copy >= 0)
			(void)close(copy);
		return st;
	}
	while ((de = readdir(dir))) {
		size_t more = strlen(de->d_name) + 1;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		if (len + more > cap) {
			char *bigger = realloc(names, cap = 2 * cap + more + 1024);

			if (!bigger)
				break;
			names = bigger;
		}
		memcpy(names + len, de->d_name, more);
		len += more;
	}
	(void)closedir(dir);
	if (de) {
		free(names);
		return HAUL_NO_MEMORY;
	}
	*ret_names = names;
	*ret_len = len;
	return HAUL_OK;
}

static haul_status move_child(struct mover *m, const struct move_place *from_dir, const struct move_place *to_dir,
			      const char *name, unsigned depth)
{
	struct move_place from = { .dir_fd = from_dir->dir_fd, .name = name };
	struct move_place to = { .dir_fd = to_dir->dir_fd, .name = name };
	char *from_shown = join(from_dir->shown, name), *to_shown = join(to_dir->shown, name);
	haul_status st = HAUL_NO_MEMORY;

	from.shown = from_shown;
	to.shown = to_shown;
	if (from_shown && to_shown)
		st = move_one(m, &from, &to, depth);
	free(from_shown);
	free(to_shown);
	return st;
}

static haul_status move_contents(struct mover *m, int from_fd, const char *from_shown, int to_fd, const char *to_shown,
				 unsigned depth)
{
	const struct move_place from = { .dir_fd = from_fd, .shown = from_shown };
	const struct move_place to = { .dir_fd = to_fd, .shown = to_shown };
	bool must_copy = false;
	char *names = NULL;
	size_t len = 0;
	haul_status st = read_names(from_fd, &names, &len);

	if (haul_failed(st) && st.code != HAUL_NO_MEMORY.code) {
		tell_problem(m, &from, ENTRY_DIRECTORY, st, haul_status_text(st));
		return HAUL_OK;
	}
	for (size_t at = 0; haul_ok(st) && at < len; at += strlen(names + at) + 1) {
		if (is_stopped(m))
			st = HAUL_CANCELLED;
		/* haul's own names in it (partials of a job) are none of the tree */
		else if (haul_component_check(names + at, strlen(names + at)).code != HAUL_RESERVED_NAME.code)
			st = move_child(m, &from, &to, names + at, depth);
		if (st.code == HAUL_CROSS_DEVICE.code) {
			must_copy = true;
			st = HAUL_OK;
		}
	}
	free(names);
	if (!m->dry_run && haul_failed(beneath_sync_directory(to_fd, -1)))
		tell_problem(m, &to, ENTRY_DIRECTORY, HAUL_IO, "it could not be made durable");
	if (!m->dry_run && haul_failed(beneath_sync_directory(from_fd, -1)))
		tell_problem(m, &from, ENTRY_DIRECTORY, HAUL_IO, "it could not be made durable");
	return haul_ok(st) && must_copy ? HAUL_CROSS_DEVICE : st;
}

haul_status mover_move(struct mover *m, const struct move_place *from, const struct move_place *to)
{
	return is_stopped(m) ? HAUL_CANCELLED : move_one(m, from, to, 0);
}

haul_status mover_move_contents(struct mover *m, int from_fd, const char *from_shown, int to_fd, const char *to_shown)
{
	return move_contents(m, from_fd, from_shown, to_fd, to_shown, 0);
}
