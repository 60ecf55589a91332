/* One open of the directory, one statx of the name: nothing else of the way is looked at. */
#include "agent/local_place.h"

#include "agent/landing.h"
#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_MAX = 384 };

static bool is_dots(const char *name, size_t len)
{
	return (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
}

static haul_status failed(haul_status st, const char *path, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	return haul_fault_set(fault, st, "%s: %s", haul_escape(path, strlen(path), shown, sizeof(shown)),
			      haul_status_text(st));
}

/* The directory that the last component lies in. */
static haul_status open_parent(struct local_place *p, const char *path, size_t before, struct haul_fault *fault)
{
	char *parent = before ? strndup(path, before) : strdup(".");

	if (!parent)
		return failed(HAUL_NO_MEMORY, path, fault);
	p->dir_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	return p->dir_fd < 0 ? failed(haul_status_from_errno(errno), path, fault) : HAUL_OK;
}

static haul_status look(struct local_place *p, const char *path, struct haul_fault *fault)
{
	struct entry_facts root;
	struct statx x;
	haul_status st = beneath_stat_at(p->dir_fd, p->name, &p->facts);

	if (haul_ok(st))
		st = beneath_stat_at(AT_FDCWD, "/", &root);
	if (haul_failed(st))
		return failed(st, path, fault);
	if (statx(p->dir_fd, p->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &x) == 0 &&
	    x.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		p->is_mount_point = x.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	p->is_root = entry_is_same(&p->facts, &root);
	return HAUL_OK;
}

static haul_status check_slash(const struct local_place *p, const char *path, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	if (!p->has_slash || p->facts.kind == ENTRY_DIRECTORY)
		return HAUL_OK;
	haul_escape(path, strlen(path), shown, sizeof(shown));
	if (p->facts.kind == ENTRY_LINK)
		return haul_fault_set(fault, HAUL_USAGE,
				      "%s is a link, and links are not followed: leave out the slash to mean the link",
				      shown);
	return haul_fault_set(fault, HAUL_USAGE, "%s is no directory: leave out the slash at its end", shown);
}

haul_status local_place_open(struct local_place *p, const char *path, struct haul_fault *fault)
{
	size_t len, before;
	const char *name = landing_base_name(path, &len);
	char shown[SHOWN_MAX];
	haul_status st;

	*p = (struct local_place){ .text = path, .dir_fd = -1 };
	if (!len && *path == '/') {
		p->is_root = true;
		return HAUL_OK;
	}
	if (!len || is_dots(name, len))
		return haul_fault_set(fault, HAUL_USAGE, "%s: write the name of the directory itself",
				      haul_escape(path, strlen(path), shown, sizeof(shown)));
	for (before = (size_t)(name - path); before > 1 && path[before - 1] == '/'; before--)
		;
	p->has_slash = name[len] == '/';
	p->name = strndup(name, len);
	st = p->name ? open_parent(p, path, before, fault) : failed(HAUL_NO_MEMORY, path, fault);
	if (haul_ok(st))
		st = look(p, path, fault);
	if (haul_ok(st))
		st = check_slash(p, path, fault);
	if (haul_failed(st))
		local_place_close(p);
	return st;
}

void local_place_close(struct local_place *p)
{
	if (p->dir_fd >= 0)
		(void)close(p->dir_fd);
	free(p->name);
	*p = (struct local_place){ .dir_fd = -1 };
}

char *local_place_bare(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return strndup(path, len);
}

haul_status local_place_facts(const char *path, struct entry_facts *ret_facts)
{
	char *bare = local_place_bare(path);
	haul_status st = bare ? beneath_stat_at(AT_FDCWD, bare, ret_facts) : HAUL_NO_MEMORY;

	free(bare);
	return st;
}

haul_status local_place_target(const char *path, struct entry_facts *ret_facts)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	haul_status st;

	if (fd < 0)
		return haul_status_from_errno(errno);
	st = beneath_stat_handle(fd, ret_facts);
	(void)close(fd);
	return st;
}
