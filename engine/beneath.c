/* The operations of beneath.h, all by the handle of a parent that beneath_open_range() found. */
#include "engine/beneath.h"

#include "engine/beneath_open.h"
#include "engine/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

haul_status beneath_open(int root_fd, const char *path, int flags, mode_t mode, int *ret_fd)
{
	haul_status st = beneath_check_path(path, NULL, NULL);

	if (haul_failed(st))
		return st;
	return beneath_open_range(root_fd, path, strlen(path), flags, mode, ret_fd);
}

haul_status beneath_parent(int root_fd, const char *path, int *ret_dir_fd, const char **ret_name)
{
	const char *name;
	size_t parent_len;
	haul_status st = beneath_check_path(path, &parent_len, &name);

	if (haul_failed(st))
		return st;
	if (!*name)
		return HAUL_BAD_VALUE;
	st = beneath_open_range(root_fd, path, parent_len, O_PATH | O_DIRECTORY, 0, ret_dir_fd);
	if (haul_ok(st))
		*ret_name = name;
	return st;
}

static haul_status stat_at(int dir_fd, const char *name, int flags, struct entry_facts *ret_facts)
{
	struct statx x;

	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | flags, FACTS_STATX_MASK, &x) < 0)
		return haul_status_from_errno(errno);
	facts_from_statx(&x, ret_facts);
	return HAUL_OK;
}

haul_status beneath_stat_at(int dir_fd, const char *name, struct entry_facts *ret_facts)
{
	return stat_at(dir_fd, name, 0, ret_facts);
}

haul_status beneath_stat_handle(int fd, struct entry_facts *ret_facts)
{
	return stat_at(fd, "", AT_EMPTY_PATH, ret_facts);
}

haul_status beneath_stat(int root_fd, const char *path, struct entry_facts *ret_facts)
{
	int fd;
	haul_status st = beneath_open(root_fd, path, O_PATH, 0, &fd);

	if (haul_failed(st))
		return st;
	st = beneath_stat_handle(fd, ret_facts);
	(void)close(fd);
	return st;
}

haul_status beneath_read_link(int dir_fd, const char *name, char **ret_target, size_t *ret_len)
{
	char target[HAUL_LINK_TARGET_MAX + 1];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target));
	char *copy;

	if (len < 0)
		return errno == EINVAL ? HAUL_WRONG_KIND : haul_status_from_errno(errno);
	if (len > HAUL_LINK_TARGET_MAX)
		return HAUL_NAME_TOO_LONG;
	copy = malloc((size_t)len + 1);
	if (!copy)
		return HAUL_NO_MEMORY;
	memcpy(copy, target, (size_t)len);
	copy[len] = '\0';
	*ret_target = copy;
	*ret_len = (size_t)len;
	return HAUL_OK;
}

/* 0 or errno. Some network and FUSE file systems have no fsync for directories. */
static int sync_handle(int fd, bool whole)
{
	int failed = whole ? syncfs(fd) : fsync(fd);

	if (failed && !whole && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
		failed = syncfs(fd);
	return failed ? errno : 0;
}

haul_status beneath_sync_directory(int dir_fd, int near_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool by_neighbour = fd < 0 && errno == EACCES && near_fd >= 0;
	int err;

	if (by_neighbour)
		fd = openat(near_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return haul_status_from_errno(errno);
	err = sync_handle(fd, by_neighbour);
	(void)close(fd);
	return err ? haul_status_from_errno(err) : HAUL_OK;
}

/* Make `name` if it is missing, and open it. */
static haul_status make_step(int dir_fd, const char *name, const struct make_path_config *cfg, int *ret_fd,
			     unsigned *made)
{
	bool is_new = mkdirat(dir_fd, name, cfg->mode) == 0;
	int err = errno;
	haul_status st = HAUL_OK;

	if (is_new)
		st = owner_give_directory(dir_fd, name, &cfg->owner);
	if (haul_failed(st)) {
		(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
		return st;
	}
	st = beneath_open_range(dir_fd, name, strlen(name), O_PATH | O_DIRECTORY, 0, ret_fd);
	/* What stands there already is fine, also where we may not make anything. */
	if (!is_new && err != EEXIST && st.code == HAUL_NOT_FOUND.code)
		return haul_status_from_errno(err);
	if (haul_failed(st) || !is_new)
		return st;
	++*made;
	if (cfg->sync)
		st = beneath_sync_directory(*ret_fd, -1);
	if (cfg->sync && haul_ok(st))
		st = beneath_sync_directory(dir_fd, *ret_fd);
	if (haul_failed(st))
		(void)close(*ret_fd);
	return st;
}

haul_status beneath_make_path(int root_fd, const char *path, const struct make_path_config *cfg, unsigned *ret_made)
{
	haul_status st = beneath_check_path(path, NULL, NULL);
	int dir_fd = root_fd;
	unsigned made = 0;

	while (haul_ok(st) && *path) {
		size_t len = (size_t)(strchrnul(path, '/') - path);
		char name[HAUL_NAME_MAX + 1];
		int fd = -1;

		memcpy(name, path, len);
		name[len] = '\0';
		st = make_step(dir_fd, name, cfg, &fd, &made);
		if (haul_failed(st))
			break;
		if (dir_fd != root_fd)
			(void)close(dir_fd);
		dir_fd = fd;
		path += len + (path[len] == '/');
	}
	if (dir_fd != root_fd)
		(void)close(dir_fd);
	if (haul_ok(st) && ret_made)
		*ret_made = made;
	return st;
}

static bool cache_holds(const struct parent_cache *c, int root_fd, const char *path, size_t parent_len)
{
	return c->path && c->root_fd == root_fd && strlen(c->path) == parent_len &&
	       memcmp(c->path, path, parent_len) == 0;
}

haul_status parent_cache_get(struct parent_cache *c, int root_fd, const char *path, int *ret_dir_fd,
			     const char **ret_name)
{
	const char *name;
	size_t parent_len;
	haul_status st = beneath_check_path(path, &parent_len, &name);

	if (haul_failed(st))
		return st;
	if (!*name)
		return HAUL_BAD_VALUE;
	if (!cache_holds(c, root_fd, path, parent_len)) {
		parent_cache_close(c);
		c->path = strndup(path, parent_len);
		if (!c->path)
			return HAUL_NO_MEMORY;
		c->root_fd = root_fd;
		c->dir_fd = -1;
		c->opened++;
		st = beneath_open_range(root_fd, path, parent_len, O_PATH | O_DIRECTORY, 0, &c->dir_fd);
	}
	if (haul_failed(st)) {
		parent_cache_close(c);
		return st;
	}
	*ret_dir_fd = c->dir_fd;
	*ret_name = name;
	return HAUL_OK;
}

void parent_cache_close(struct parent_cache *c)
{
	if (c->path && c->dir_fd >= 0)
		(void)close(c->dir_fd);
	free(c->path);
	*c = (struct parent_cache){ .opened = c->opened };
}
