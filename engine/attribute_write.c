/*
 * By the name that procfs has for the handle: it takes O_PATH handles too. What a user may not write to takes no user.*
 * from him either, although it is his (chmod 444): it is opened up for the while.
 */
#include "engine/attribute_write.h"

#include "engine/attribute_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { PATH_BYTES = 32 };

struct writing {
	char path[PATH_BYTES];
	bool was_opened_up;
	mode_t old_mode;
};

/* Why an attribute cannot be set, as a class; 0: that is no matter of the attribute. */
static uint32_t lost_by(int err, unsigned kind)
{
	switch (err) {
	case EOPNOTSUPP:
	case ENOSYS:
	case ENOENT: /* no procfs */
	case EPERM:
	case EACCES:
	case EINVAL:
	case EROFS:
		return kind == ATTRIBUTE_ACL ? LOST_ACL_STORE : LOST_ATTRIBUTES_STORE;
	case ENOSPC:
	case EDQUOT:
	case E2BIG:
	case ERANGE:
		return kind == ATTRIBUTE_ACL ? LOST_ACL_STORE : LOST_ATTRIBUTES_ROOM;
	default:
		return 0;
	}
}

static bool open_up(struct writing *w)
{
	struct stat st;

	if (w->was_opened_up || stat(w->path, &st) < 0 || chmod(w->path, (st.st_mode & 07777) | S_IWUSR) < 0)
		return false;
	w->old_mode = st.st_mode & 07777;
	w->was_opened_up = true;
	return true;
}

static int set(struct writing *w, const struct attribute *a)
{
	int failed = setxattr(w->path, a->name, a->value, a->value_len, 0);

	if (failed && errno == EACCES && open_up(w))
		failed = setxattr(w->path, a->name, a->value, a->value_len, 0);
	return failed;
}

static int take_away(struct writing *w, const char *name)
{
	int failed = removexattr(w->path, name);

	if (failed && errno == EACCES && open_up(w))
		failed = removexattr(w->path, name);
	return failed && errno == ENODATA ? 0 : failed;
}

static haul_status judge(int failed, const struct attribute *a, uint32_t *lost)
{
	uint32_t why = failed ? lost_by(errno, attribute_kind_of(a->name, a->name_len)) : 0;

	if (failed && !why)
		return haul_status_from_errno(errno);
	*lost |= why;
	return HAUL_OK;
}

/* What is there and not wanted goes first: a file system may have room for one set and not for two. */
static haul_status remove_others(struct writing *w, int fd, const struct attribute_wish *wish, uint32_t *lost)
{
	struct attributes *there = NULL;
	bool is_left_out = false;
	haul_status st = attribute_read(fd, wish->kinds, &there, &is_left_out);

	for (size_t i = 0; haul_ok(st) && there && i < there->count; i++) {
		const struct attribute *a = &there->at[i];

		if (!attributes_find(wish->wanted, a->name))
			st = judge(take_away(w, a->name), a, lost);
	}
	free(there);
	return st;
}

haul_status attribute_apply(int fd, const struct attribute_wish *wish, uint32_t *lost)
{
	struct writing w = { .was_opened_up = false };
	haul_status st = HAUL_OK;

	if (!wish->kinds || (wish->is_bare && !wish->wanted))
		return HAUL_OK;
	(void)snprintf(w.path, sizeof(w.path), "/proc/self/fd/%d", fd);
	if (!wish->is_bare)
		st = remove_others(&w, fd, wish, lost);
	for (size_t i = 0; haul_ok(st) && wish->wanted && i < wish->wanted->count; i++) {
		const struct attribute *a = &wish->wanted->at[i];

		if (attribute_kind_of(a->name, a->name_len) & wish->kinds)
			st = judge(set(&w, a), a, lost);
	}
	if (w.was_opened_up && chmod(w.path, w.old_mode) < 0 && haul_ok(st))
		st = haul_status_from_errno(errno);
	return st;
}
