/*
 * What a thread of a tree remover does with one directory: list it, remove at once what is no directory, put the
 * directories on the stack; and when the last of them is done, remove the directory itself, and so on upwards.
 *
 * The kind that the listing gives saves a look at each entry; where it is wrong or missing, unlinkat() says so. A name
 * that was a directory and is a link when it is opened is removed as a link: nothing is followed.
 */
#include "engine/tree_remover_impl.h"

#include "engine/facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CHILDREN_MAX = 4096, /* directories put on the stack by one listing: then they are done first */
	AGAIN_MAX = 16,      /* times a directory that should be empty is gone through once more */
};

struct listing {
	struct tree_dir *dir;
	int fd;
	struct tree_dir *first, **end; /* children found */
	unsigned children;
	bool is_partly; /* there is more */
};

/* Where nobody says what it is, it is taken for a file. */
static enum entry_kind kind_of(unsigned char type)
{
	return type == DT_UNKNOWN ? ENTRY_FILE : facts_kind((unsigned)DTTOIF(type));
}

static void count(struct tree_worker *w, const struct tree_dir *dir, const char *name, enum entry_kind kind)
{
	w->totals.entries++;
	w->totals.files += kind == ENTRY_FILE;
	tree_tell_entry(w->r, dir, dir->target, name, kind);
}

static void leave_there(struct tree_worker *w, struct tree_dir *dir, const char *name, enum entry_kind kind,
			haul_status st, int err)
{
	w->totals.left++;
	w->totals.left_files += kind == ENTRY_FILE;
	pthread_mutex_lock(&w->r->lock);
	dir->is_left = true;
	pthread_mutex_unlock(&w->r->lock);
	tree_tell_problem(w->r, dir, dir->target, name, kind, st, err);
}

static haul_status add_child(struct listing *l, const char *name)
{
	struct tree_dir *child = tree_dir_new(l->dir, l->dir->target, name);

	if (!child)
		return HAUL_NO_MEMORY;
	*l->end = child;
	l->end = &child->next;
	l->children++;
	return HAUL_OK;
}

/* It is protected: not gone, and no problem. What holds it stays too. */
static void keep_there(struct tree_worker *w, struct tree_dir *dir)
{
	w->totals.kept++;
	pthread_mutex_lock(&w->r->lock);
	dir->is_left = true;
	pthread_mutex_unlock(&w->r->lock);
}

/* Only for what the kernel has not told the kind of. */
static unsigned char type_of(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? DT_UNKNOWN : (unsigned char)IFTODT(st.st_mode);
}

static haul_status remove_name(struct tree_worker *w, struct listing *l, const char *name, unsigned char type)
{
	if (type == DT_UNKNOWN)
		type = type_of(l->fd, name);
	if (type == DT_DIR)
		return add_child(l, name);
	if (unlinkat(l->fd, name, 0) == 0)
		count(w, l->dir, name, kind_of(type));
	else if (errno == EISDIR)
		return add_child(l, name);
	else if (errno != ENOENT)
		leave_there(w, l->dir, name, kind_of(type), tree_status_of(errno), errno);
	return HAUL_OK;
}

static haul_status count_name(struct tree_worker *w, struct listing *l, const char *name, unsigned char type)
{
	struct stat st;

	if (type == DT_UNKNOWN || type == DT_REG) {
		if (fstatat(l->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return HAUL_OK;
		type = (unsigned char)IFTODT(st.st_mode);
		w->totals.bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	}
	if (type == DT_DIR)
		return add_child(l, name);
	count(w, l->dir, name, kind_of(type));
	return HAUL_OK;
}

static haul_status take_names(struct tree_worker *w, struct listing *l, size_t len)
{
	haul_status st = HAUL_OK;

	for (size_t at = 0; haul_ok(st) && at < len;) {
		const struct dirent64 *e = (const void *)(w->buffer + at);

		at += e->d_reclen;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (w->r->cfg->keeps && w->r->cfg->keeps(e->d_name)) {
			keep_there(w, l->dir);
			continue;
		}
		st = w->r->cfg->mode == TREE_COUNT ? count_name(w, l, e->d_name, e->d_type)
						   : remove_name(w, l, e->d_name, e->d_type);
	}
	return st;
}

/* To its end, or until it has put so many directories before us that they are to be done first. */
static haul_status list_all(struct tree_worker *w, struct listing *l)
{
	haul_status st = HAUL_OK;

	while (haul_ok(st) && !tree_is_stopping(w->r)) {
		ssize_t len = getdents64(l->fd, w->buffer, sizeof(w->buffer));

		if (len < 0 && errno != ENOENT) /* of a directory that somebody has removed */
			leave_there(w, l->dir, NULL, ENTRY_DIRECTORY, haul_status_from_errno(errno), errno);
		if (len <= 0)
			return HAUL_OK;
		st = take_names(w, l, (size_t)len);
		if (l->children >= CHILDREN_MAX) {
			l->is_partly = true;
			return st;
		}
		if (w->r->cfg->entries_max && w->totals.entries > w->r->cfg->entries_max)
			return st;
	}
	return st;
}

/* Under the lock: what the thread has counted joins the whole. */
static void add_totals(struct tree_worker *w)
{
	tree_add_totals(w->r, &w->totals);
	w->totals = (struct tree_totals){ 0 };
}

static void push_children(struct tree_worker *w, struct listing *l)
{
	struct tree_remover *r = w->r;

	pthread_mutex_lock(&r->lock);
	add_totals(w);
	l->dir->below += l->children;
	while (l->first) {
		struct tree_dir *child = l->first;

		l->first = child->next;
		tree_push(r, child);
		r->alive++;
	}
	if (l->children == 1)
		pthread_cond_signal(&r->work);
	else if (l->children)
		pthread_cond_broadcast(&r->work);
	pthread_mutex_unlock(&r->lock);
}

static void break_off(struct tree_remover *r)
{
	pthread_mutex_lock(&r->lock);
	r->is_broken = true;
	pthread_mutex_unlock(&r->lock);
}

static void list_dir(struct tree_worker *w, struct tree_dir *d, int fd)
{
	struct listing l = { .dir = d, .fd = fd };

	l.end = &l.first;
	if (d->again && !d->is_pinned)
		(void)lseek(fd, 0, SEEK_SET);
	if (haul_failed(list_all(w, &l)))
		break_off(w->r);
	if (!d->is_pinned && l.is_partly)
		d->is_pinned = true;
	else
		tree_dir_leave(w->r, d); /* pinned: it stays entered from the time before */
	if (d->is_pinned && !l.is_partly) {
		d->is_pinned = false;
		tree_dir_leave(w->r, d);
	}
	push_children(w, &l);
}

/* It has become something else since it was listed, or cannot be opened: what it is now may still go by its name. */
static void not_opened(struct tree_worker *w, struct tree_dir *d, haul_status st)
{
	bool is_remove = w->r->cfg->mode == TREE_REMOVE;
	int fd = -1, err = 0;

	d->is_gone = st.code == HAUL_NOT_FOUND.code;
	if (d->is_gone || haul_failed(tree_dir_enter_parent(w->r, d, &fd)))
		fd = -1;
	if (fd >= 0 && is_remove && st.code != HAUL_CROSS_DEVICE.code) {
		bool is_dir = st.code != HAUL_NOT_DIRECTORY.code && st.code != HAUL_LINK_IN_PATH.code;

		/* An empty directory may go without being read. */
		if (unlinkat(fd, d->name, is_dir ? AT_REMOVEDIR : 0) == 0)
			count(w, d, NULL, is_dir ? ENTRY_DIRECTORY : ENTRY_LINK);
		else
			err = errno;
		d->is_gone = !err || err == ENOENT;
	}
	if (fd >= 0)
		tree_dir_leave_parent(w->r, d);
	if (st.code == HAUL_CROSS_DEVICE.code && w->r->cfg->keeps)
		keep_there(w, d);
	else if (!d->is_gone)
		leave_there(w, d, NULL, ENTRY_DIRECTORY, st, st.code == HAUL_DENIED.code ? EACCES : 0);
}

/* 0 or errno. */
static int remove_dir(struct tree_worker *w, struct tree_dir *d, haul_status *ret_status)
{
	int fd = -1, err = 0;

	*ret_status = tree_dir_enter_parent(w->r, d, &fd);
	if (haul_failed(*ret_status))
		return EIO;
	if (unlinkat(fd, d->name, AT_REMOVEDIR) < 0)
		err = errno;
	tree_dir_leave_parent(w->r, d);
	if (err)
		*ret_status = tree_status_of(err);
	return err;
}

/* All below is done. Whether the directory is to be gone through again. */
static bool end_dir(struct tree_worker *w, struct tree_dir *d)
{
	haul_status st = HAUL_OK;
	int err;

	if (d->is_pinned)
		return !tree_is_stopping(w->r);
	if (d->is_gone || d->is_left)
		return false;
	if (w->r->cfg->mode == TREE_COUNT) {
		count(w, d, NULL, ENTRY_DIRECTORY);
		return false;
	}
	err = tree_is_stopping(w->r) ? ECANCELED : remove_dir(w, d, &st);
	if (err == ECANCELED || err == ENOENT)
		d->is_left |= err == ECANCELED;
	else if ((err == ENOTEMPTY || err == EEXIST) && d->again++ < AGAIN_MAX)
		return true;
	else if (err)
		leave_there(w, d, NULL, ENTRY_DIRECTORY, st, err);
	else
		count(w, d, NULL, ENTRY_DIRECTORY);
	return false;
}

/* One thing less below `d`; whether that was the last. `is_left`: it stays. */
static bool is_last(struct tree_worker *w, struct tree_dir *d, bool is_left)
{
	bool last;

	pthread_mutex_lock(&w->r->lock);
	add_totals(w);
	d->is_left |= is_left;
	last = --d->below == 0;
	pthread_mutex_unlock(&w->r->lock);
	return last;
}

static void push_again(struct tree_remover *r, struct tree_dir *d)
{
	pthread_mutex_lock(&r->lock);
	tree_push(r, d);
	pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
}

static void forget_dir(struct tree_worker *w, struct tree_dir *d)
{
	struct tree_remover *r = w->r;

	tree_dir_free(r, d);
	pthread_mutex_lock(&r->lock);
	add_totals(w);
	if (--r->alive == 0) {
		pthread_cond_broadcast(&r->work);
		pthread_cond_signal(&r->end);
	}
	pthread_mutex_unlock(&r->lock);
}

/* The directory, and upwards whatever ends with it. */
static void end_upwards(struct tree_worker *w, struct tree_dir *d)
{
	while (d) {
		struct tree_dir *parent = d->parent;
		bool is_left;

		if (end_dir(w, d)) {
			push_again(w->r, d);
			return;
		}
		is_left = d->is_left;
		forget_dir(w, d);
		if (!parent || !is_last(w, parent, is_left))
			return;
		d = parent;
	}
}

void tree_work(struct tree_worker *w, struct tree_dir *d)
{
	int fd = -1;
	haul_status st;

	d->below = 1; /* nobody else knows of it now */
	if (tree_is_stopping(w->r)) {
		d->is_left = true;
	} else {
		st = tree_dir_enter(w->r, d, &fd);
		if (haul_ok(st))
			list_dir(w, d, fd);
		else
			not_opened(w, d, st);
	}
	if (is_last(w, d, false))
		end_upwards(w, d);
}
