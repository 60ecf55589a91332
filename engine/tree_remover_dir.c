/*
 * Directories of a tree remover and their handles. A handle stays open while somebody uses it, and after that as long
 * as there are few: the one not used for longest is closed first. One that is needed again is opened by its name from
 * the nearest ancestor that is open, or by ".." from a directory in it, and must be the same directory as before.
 */
#include "engine/tree_remover_impl.h"

#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY)

struct tree_dir *tree_dir_new(struct tree_dir *parent, const struct tree_target *target, const char *name)
{
	size_t len = strlen(name) + 1;
	struct tree_dir *d = calloc(1, sizeof(*d) + len);

	if (!d)
		return NULL;
	d->parent = parent;
	d->target = target;
	d->fd = -1;
	list_init(&d->idle);
	memcpy(d->name, name, len);
	return d;
}

static bool is_the_same(const struct tree_dir *d, int fd)
{
	struct stat st;

	if (!d->is_known)
		return true;
	return fstat(fd, &st) == 0 && st.st_dev == d->device && st.st_ino == d->inode;
}

/* Under the lock. What a directory is must be known before its handle goes; one that cannot be looked at keeps it. */
static void close_oldest(struct tree_remover *r)
{
	struct list *link = list_pop_front(&r->idle);
	struct tree_dir *d = link ? list_item(link, struct tree_dir, idle) : NULL;
	struct stat st;

	if (!d)
		return;
	if (!d->is_known && fstat(d->fd, &st) < 0) {
		list_push_back(&r->idle, &d->idle);
		return;
	}
	if (!d->is_known) {
		d->device = st.st_dev;
		d->inode = st.st_ino;
		d->is_known = true;
	}
	(void)close(d->fd);
	d->fd = -1;
	r->open--;
}

/* Under the lock. */
static bool use_if_open(struct tree_dir *d)
{
	if (d->fd < 0)
		return false;
	list_remove(&d->idle);
	d->users++;
	return true;
}

/* The handle becomes the directory's, unless another thread was faster. */
static int keep(struct tree_remover *r, struct tree_dir *d, int fd)
{
	pthread_mutex_lock(&r->lock);
	if (use_if_open(d)) {
		(void)close(fd);
	} else {
		if (r->open >= r->open_max)
			close_oldest(r);
		d->fd = fd;
		d->users = 1;
		r->open++;
	}
	fd = d->fd;
	pthread_mutex_unlock(&r->lock);
	return fd;
}

static haul_status open_step(const struct tree_dir *d, int parent_fd, int *ret_fd)
{
	haul_status st = beneath_open_child(parent_fd, d->name, OPEN_FLAGS, ret_fd);

	if (haul_ok(st) && !is_the_same(d, *ret_fd)) {
		(void)close(*ret_fd);
		st = HAUL_CHANGED;
	}
	return st;
}

/*
 * Under the lock: the nearest ancestor that is open, in use from now on (NULL: none, begin at the target's directory),
 * and in *ret_way the directories below it down to `d`, `d` last. The way is given: free().
 */
static struct tree_dir *nearest_open(struct tree_dir *d, struct tree_dir ***ret_way, size_t *ret_count)
{
	struct tree_dir *above = d->parent;
	size_t count = 1;

	for (; above && above->fd < 0; above = above->parent)
		count++;
	*ret_way = calloc(count, sizeof(struct tree_dir *));
	*ret_count = count;
	for (size_t i = count; *ret_way && i > 0; i--) {
		(*ret_way)[i - 1] = d;
		d = d->parent;
	}
	if (*ret_way && above)
		(void)use_if_open(above);
	return above;
}

static haul_status open_down(struct tree_dir *const *way, size_t count, int top_fd, int *ret_fd)
{
	int at = top_fd;
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < count; i++) {
		int fd = -1;

		st = open_step(way[i], at, &fd);
		if (at != top_fd)
			(void)close(at);
		at = fd;
	}
	if (haul_ok(st))
		*ret_fd = at;
	return st;
}

haul_status tree_dir_enter(struct tree_remover *r, struct tree_dir *d, int *ret_fd)
{
	struct tree_dir **way = NULL, *above = NULL;
	size_t count = 0;
	bool is_open;
	int fd = -1;
	haul_status st;

	pthread_mutex_lock(&r->lock);
	is_open = use_if_open(d);
	if (is_open)
		*ret_fd = d->fd;
	else
		above = nearest_open(d, &way, &count);
	pthread_mutex_unlock(&r->lock);
	if (is_open)
		return HAUL_OK;
	if (!way)
		return HAUL_NO_MEMORY;
	st = open_down(way, count, above ? above->fd : d->target->dir_fd, &fd);
	free(way);
	if (above)
		tree_dir_leave(r, above);
	if (haul_ok(st))
		*ret_fd = keep(r, d, fd);
	return st;
}

void tree_dir_leave(struct tree_remover *r, struct tree_dir *d)
{
	pthread_mutex_lock(&r->lock);
	if (--d->users == 0) {
		list_push_back(&r->idle, &d->idle);
		if (r->open > r->open_max)
			close_oldest(r);
	}
	pthread_mutex_unlock(&r->lock);
}

/* From a directory that is open to the one above: one step instead of a way from the top. */
static bool enter_upwards(struct tree_remover *r, struct tree_dir *d, int *ret_fd)
{
	struct tree_dir *parent = d->parent;
	bool is_open, can_climb;
	int fd;

	pthread_mutex_lock(&r->lock);
	is_open = use_if_open(parent);
	can_climb = !is_open && parent->is_known && use_if_open(d);
	if (is_open)
		*ret_fd = parent->fd;
	pthread_mutex_unlock(&r->lock);
	if (is_open || !can_climb)
		return is_open;
	fd = openat(d->fd, "..", OPEN_FLAGS | O_CLOEXEC);
	tree_dir_leave(r, d);
	if (fd < 0)
		return false;
	if (!is_the_same(parent, fd)) {
		(void)close(fd);
		return false;
	}
	*ret_fd = keep(r, parent, fd);
	return true;
}

haul_status tree_dir_enter_parent(struct tree_remover *r, struct tree_dir *d, int *ret_fd)
{
	if (!d->parent) {
		*ret_fd = d->target->dir_fd;
		return HAUL_OK;
	}
	return enter_upwards(r, d, ret_fd) ? HAUL_OK : tree_dir_enter(r, d->parent, ret_fd);
}

void tree_dir_leave_parent(struct tree_remover *r, struct tree_dir *d)
{
	if (d->parent)
		tree_dir_leave(r, d->parent);
}

void tree_dir_free(struct tree_remover *r, struct tree_dir *d)
{
	pthread_mutex_lock(&r->lock);
	if (d->fd >= 0) {
		list_remove(&d->idle);
		(void)close(d->fd);
		r->open--;
	}
	pthread_mutex_unlock(&r->lock);
	free(d);
}
