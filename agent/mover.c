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
#include "engine/link_chain.h"

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

void mover_close(struct mover *m)
{
	arrivals_free(&m->arrivals);
}

haul_status mover_protect(struct mover *m, const struct entry_facts *source)
{
	haul_status st = arrivals_reserve(&m->arrivals);

	if (haul_ok(st))
		arrivals_add(&m->arrivals, source);
	return st;
}

/* It has landed, or would: told, and remembered. Room was made before the rename. */
static haul_status landed(struct mover *m, const struct move_place *from, const struct move_place *to)
{
	const struct move_place *at = m->dry_run ? from : to;
	struct entry_facts facts = { .kind = ENTRY_FILE };
	bool is_known = haul_ok(beneath_stat_at(at->dir_fd, at->name, &facts)); /* else it has gone again */
	haul_status st = HAUL_OK;

	if (is_known && m->dry_run)
		st = arrivals_claim(&m->arrivals, to->shown, from->shown, &facts);
	else if (is_known)
		arrivals_add(&m->arrivals, &facts);
	m->moved++;
	if (m->on_moved)
		m->on_moved(m->ctx, from->shown, to->shown, facts.kind);
	return st;
}

/* What stands at the landing name; in a dry run also what would by then. ret_claim: the latter, or NULL. */
static bool look_there(const struct mover *m, const struct move_place *to, struct entry_facts *ret_facts,
		       const struct claim **ret_claim)
{
	const struct claim *c = m->dry_run ? arrivals_claimed(&m->arrivals, to->shown) : NULL;

	*ret_claim = c;
	if (c)
		*ret_facts = c->facts;
	return c || (to->dir_fd >= 0 && haul_ok(beneath_stat_at(to->dir_fd, to->name, ret_facts)));
}

static void tell_stays(struct mover *m, const struct move_place *from, enum entry_kind kind, haul_status st,
		       const char *why, const char *remedy)
{
	struct haul_fault fault;

	m->failed++;
	m->failed_files += kind == ENTRY_FILE;
	(void)haul_fault_set(&fault, st, "%s", why);
	if (m->on_problem)
		m->on_problem(m->ctx, from->shown, kind, &fault, remedy);
}

static void tell_problem(struct mover *m, const struct move_place *from, enum entry_kind kind, haul_status st,
			 const char *why)
{
	tell_stays(m, from, kind, st, why, NULL);
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

/* One of two directories that meet could not be opened. As above. */
static haul_status not_opened(struct mover *m, const struct move_place *from, haul_status st)
{
	if (st.code == HAUL_CROSS_DEVICE.code)
		return st;
	if (st.code == HAUL_NOT_FOUND.code)
		st = HAUL_VANISHED;
	tell_problem(m, from, ENTRY_DIRECTORY, st, haul_status_text(st));
	return HAUL_OK;
}

/* 0 or errno. Without RENAME_NOREPLACE: see above. */
static int rename_new(struct mover *m, const struct move_place *from, const struct move_place *to)
{
	struct entry_facts facts, now;
	int err;

	if (m->calls->rename_new(from->dir_fd, from->name, to->dir_fd, to->name) == 0)
		return 0;
	err = errno;
	if (err != EINVAL && err != ENOSYS)
		return err;
	if (haul_ok(beneath_stat_at(to->dir_fd, to->name, &facts)))
		return EEXIST;
	if (kind_at(from) == ENTRY_DIRECTORY) {
		char name[HAUL_NAME_MAX + 2]; /* with a slash, nothing but a directory is renamed */

		(void)snprintf(name, sizeof(name), "%s/", from->name);
		return m->calls->rename_over(from->dir_fd, name, to->dir_fd, to->name) ? errno : 0;
	}
	if (m->calls->link_new(from->dir_fd, from->name, to->dir_fd, to->name))
		return errno == EPERM || errno == EOPNOTSUPP ? EXDEV : errno; /* no hard links there: copying can */
	if (haul_failed(beneath_stat_at(from->dir_fd, from->name, &now)) ||
	    haul_failed(beneath_stat_at(to->dir_fd, to->name, &facts)) || !entry_is_same(&now, &facts))
		return EBUSY; /* somebody has put another file there meanwhile: that one stays */
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

static haul_status land_numbered(struct mover *m, const struct move_place *from, const struct move_place *to)
{
	char name[HAUL_NAME_MAX + 1];
	struct move_place at = { .dir_fd = to->dir_fd, .name = name };
	size_t dir_len = strlen(to->shown) - strlen(to->name), cap = dir_len + sizeof(name);
	char *shown = malloc(cap);
	haul_status st = HAUL_OK;
	int err = EEXIST;

	if (!shown)
		return HAUL_NO_MEMORY;
	at.shown = shown;
	for (unsigned i = 2; err == EEXIST && i <= NUMBER_MAX; i++) {
		const struct claim *claim;
		struct entry_facts facts;

		numbered(to->name, i, name);
		(void)snprintf(shown, cap, "%.*s%s", (int)dir_len, to->shown, name);
		if (m->dry_run)
			err = look_there(m, &at, &facts, &claim) ? EEXIST : 0;
		else
			err = rename_new(m, from, &at);
	}
	st = err ? refused(m, from, err) : landed(m, from, &at);
	free(shown);
	return st;
}

/* What lies in the file system of the directory, or of the neighbour where that may not be read. 0 or errno. */
static int sync_file_system(int dir_fd, int near_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (fd < 0 && errno == EACCES)
		fd = openat(near_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (syncfs(fd))
		err = errno;
	(void)close(fd);
	return err;
}

/*
 * A durable name for content that is not would leave neither the old nor the new after a power loss. near_fd: a
 * directory of the same file system. 0 or errno.
 */
static int make_durable(const struct move_place *file, int near_fd)
{
	int fd = openat(file->dir_fd, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err = 0;

	if (fd < 0 && errno == EACCES) /* it may not be read */
		return sync_file_system(file->dir_fd, near_fd);
	if (fd < 0)
		return errno;
	if (fsync(fd))
		err = errno;
	(void)close(fd);
	return err;
}

static haul_status land_over(struct mover *m, const struct move_place *from, const struct move_place *to,
			     const struct entry_facts *here, const struct entry_facts *there)
{
	int err;

	if (here->kind == ENTRY_DIRECTORY || there->kind == ENTRY_DIRECTORY) {
		tell_problem(m, from, here->kind, HAUL_WRONG_KIND, "a directory is no replacement, nor replaced");
		return HAUL_OK;
	}
	/* The link would end up leading to itself, and what it led to be gone. */
	if (link_leads_to(from->dir_fd, from->name, there) || link_leads_to(to->dir_fd, to->name, here)) {
		tell_problem(m, from, here->kind, HAUL_SAME_FILE, "it and the one there are one and the same file");
		return HAUL_OK;
	}
	err = m->dry_run || here->kind != ENTRY_FILE ? 0 : make_durable(from, to->dir_fd);
	if (err)
		return refused(m, from, err);
	if (!m->dry_run && m->calls->rename_over(from->dir_fd, from->name, to->dir_fd, to->name))
		return refused(m, from, errno);
	return landed(m, from, to);
}

static haul_status open_dir(const struct move_place *p, int *ret_fd)
{
	return beneath_open_child(p->dir_fd, p->name, O_RDONLY | O_DIRECTORY, ret_fd);
}

static haul_status move_contents(struct mover *m, const struct move_place *from, const struct move_place *to,
				 unsigned depth);

/* The directory that contents land in; in a dry run where it still lies. */
static haul_status open_landing(const struct move_place *to, const struct claim *claim, int *ret_fd)
{
	if (!claim)
		return open_dir(to, ret_fd);
	*ret_fd = open(claim->from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? haul_status_from_errno(errno) : HAUL_OK;
}

/* Two directories become one. The source's own goes when nothing is left in it. */
static haul_status merge(struct mover *m, const struct move_place *from, const struct move_place *to,
			 const struct claim *claim, unsigned depth)
{
	int from_fd = -1, to_fd = -1;
	haul_status st = depth < MERGE_DEPTH_MAX ? open_dir(from, &from_fd) : haul_status_from_errno(ENAMETOOLONG);

	if (haul_ok(st))
		st = open_landing(to, claim, &to_fd);
	if (haul_failed(st))
		st = not_opened(m, from, st);
	else
		st = move_contents(
		    m, &(struct move_place){ .dir_fd = from_fd, .shown = from->shown },
		    &(struct move_place){ .dir_fd = to_fd, .shown = to->shown, .is_arrived = to->is_arrived },
		    depth + 1);
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

/* The name stays with what has it. */
static void leave(struct mover *m, const struct move_place *from, enum entry_kind kind, bool is_arrived)
{
	if (is_arrived)
		tell_stays(m, from, kind, HAUL_EXISTS,
			   "its name there was taken by this very command, or is still to be moved",
			   "--on-conflict=number lets both land");
	else
		tell_stays(m, from, kind, HAUL_EXISTS, "the name is taken there",
			   "--on-conflict=replace or =number lets it land");
}

/* The name is taken. */
static haul_status meet(struct mover *m, const struct move_place *from, const struct move_place *to, unsigned depth)
{
	struct move_place at = *to;
	struct entry_facts here, there;
	const struct claim *claim;

	if (haul_failed(beneath_stat_at(from->dir_fd, from->name, &here)))
		return refused(m, from, ENOENT);
	if (!look_there(m, to, &there, &claim))
		return refused(m, from, EEXIST); /* it has gone again: the next run moves it */
	if (entry_is_same(&here, &there)) {
		tell_stays(m, from, here.kind, HAUL_SAME_FILE, "it and the one there are one file under two names",
			   "haul remove takes one of the names away");
		return HAUL_OK;
	}
	at.is_arrived = to->is_arrived || claim || arrivals_has(&m->arrivals, &there);
	if (here.kind == ENTRY_DIRECTORY && there.kind == ENTRY_DIRECTORY)
		return merge(m, from, &at, claim, depth);
	if (m->rule == MOVE_NUMBER)
		return land_numbered(m, from, to);
	if (m->rule == MOVE_REPLACE && !at.is_arrived)
		return land_over(m, from, to, &here, &there);
	leave(m, from, here.kind, at.is_arrived);
	return HAUL_OK;
}

/* What a rename would say, without renaming. */
static int would_rename(const struct mover *m, const struct move_place *from, const struct move_place *to)
{
	struct entry_facts here, there, dir = { .device = m->absent_device };
	const struct claim *claim;

	if (haul_failed(beneath_stat_at(from->dir_fd, from->name, &here)))
		return ENOENT;
	if (look_there(m, to, &there, &claim))
		return EEXIST;
	if (to->dir_fd >= 0 && haul_failed(beneath_stat_handle(to->dir_fd, &dir)))
		return 0;
	return dir.device != here.device ? EXDEV : 0;
}

static haul_status move_one(struct mover *m, const struct move_place *from, const struct move_place *to, unsigned depth)
{
	haul_status st = arrivals_reserve(&m->arrivals);
	int err;

	if (haul_failed(st))
		return st;
	err = m->dry_run ? would_rename(m, from, to) : rename_new(m, from, to);
	if (err == EEXIST || err == ENOTEMPTY)
		return meet(m, from, to, depth);
	if (err)
		return refused(m, from, err);
	return landed(m, from, to);
}

/* All names of a directory, each with its NUL; read before anything moves, since it may move into what is being read.
 */
static haul_status read_names(int fd, char **ret_names, size_t *ret_len)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	char *names = NULL;
	size_t len = 0, cap = 0;
	haul_status st = HAUL_OK;
	struct dirent *de;

	if (!dir) {
		st = haul_status_from_errno(errno);
		if (copy >= 0)
			(void)close(copy);
		return st;
	}
	while (errno = 0, (de = readdir(dir))) {
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
	if (!de && errno)
		st = haul_status_from_errno(errno); /* not the end of it */
	else if (de)
		st = HAUL_NO_MEMORY;
	(void)closedir(dir);
	if (haul_failed(st)) {
		free(names);
		return st;
	}
	*ret_names = names;
	*ret_len = len;
	return HAUL_OK;
}

static haul_status move_child(struct mover *m, const struct move_place *from_dir, const struct move_place *to_dir,
			      const char *name, unsigned depth)
{
	struct move_place from = { .dir_fd = from_dir->dir_fd, .name = name };
	struct move_place to = { .dir_fd = to_dir->dir_fd, .name = name, .is_arrived = to_dir->is_arrived };
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

static haul_status leave_reserved(struct mover *m, const struct move_place *dir, const char *name)
{
	struct move_place from = { .dir_fd = dir->dir_fd, .name = name };
	char *path = join(dir->shown, name);

	if (!path)
		return HAUL_NO_MEMORY;
	from.shown = path;
	tell_problem(m, &from, kind_at(&from), HAUL_RESERVED_NAME, "the name is one of haul's own");
	free(path);
	return HAUL_OK;
}

static haul_status move_contents(struct mover *m, const struct move_place *from, const struct move_place *to,
				 unsigned depth)
{
	bool must_copy = false;
	char *names = NULL;
	size_t len = 0;
	haul_status st = read_names(from->dir_fd, &names, &len);

	if (haul_failed(st) && st.code != HAUL_NO_MEMORY.code) {
		tell_problem(m, from, ENTRY_DIRECTORY, st, haul_status_text(st));
		return HAUL_OK;
	}
	for (size_t at = 0; haul_ok(st) && at < len; at += strlen(names + at) + 1) {
		if (is_stopped(m))
			st = HAUL_CANCELLED;
		/* haul's own names in it (partials of a job) are none of the tree */
		else if (haul_component_check(names + at, strlen(names + at)).code == HAUL_RESERVED_NAME.code)
			st = leave_reserved(m, from, names + at);
		else
			st = move_child(m, from, to, names + at, depth);
		if (st.code == HAUL_CROSS_DEVICE.code) {
			must_copy = true;
			st = HAUL_OK;
		}
	}
	free(names);
	if (!m->dry_run && haul_failed(beneath_sync_directory(to->dir_fd, -1)))
		tell_problem(m, to, ENTRY_DIRECTORY, HAUL_IO, "it could not be made durable");
	if (!m->dry_run && haul_failed(beneath_sync_directory(from->dir_fd, -1)))
		tell_problem(m, from, ENTRY_DIRECTORY, HAUL_IO, "it could not be made durable");
	return haul_ok(st) && must_copy ? HAUL_CROSS_DEVICE : st;
}

haul_status mover_move(struct mover *m, const struct move_place *from, const struct move_place *to)
{
	return is_stopped(m) ? HAUL_CANCELLED : move_one(m, from, to, 0);
}

haul_status mover_move_contents(struct mover *m, int from_fd, const char *from_shown, int to_fd, const char *to_shown)
{
	struct entry_facts facts;
	bool is_arrived =
	    to_fd >= 0 && haul_ok(beneath_stat_handle(to_fd, &facts)) && arrivals_has(&m->arrivals, &facts);

	return move_contents(m, &(struct move_place){ .dir_fd = from_fd, .shown = from_shown },
			     &(struct move_place){ .dir_fd = to_fd, .shown = to_shown, .is_arrived = is_arrived }, 0);
}
