/*
 * Linux 6.13 lists by a name in a directory's handle; before it the name goes behind that of the handle in procfs,
 * which leads to the same place and follows no link at its end either.
 */
#include "engine/attribute_read.h"

#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef __NR_listxattrat
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv) || defined(__powerpc__) || defined(__s390x__)
#define __NR_listxattrat 465 /* one number for all of them (Linux 6.13) */
#endif
#endif

enum {
	LIST_ON_STACK = 1024,
	LIST_BYTES_MAX = 64 * 1024, /* XATTR_LIST_MAX of Linux */
	NAMED_PATH_BYTES = 32 + HAUL_NAME_MAX,
	PATH_BYTES = 32,
};

unsigned attribute_kinds_of_process(void)
{
	return ATTRIBUTE_USER | ATTRIBUTE_ACL | (geteuid() == 0 ? ATTRIBUTE_SECURITY | ATTRIBUTE_TRUSTED : 0u);
}

static _Atomic bool has_no_listxattrat;

static ssize_t list_at(int dir_fd, const char *name, char *list, size_t cap)
{
	char path[NAMED_PATH_BYTES];

#ifdef __NR_listxattrat
	if (!atomic_load_explicit(&has_no_listxattrat, memory_order_relaxed)) {
		ssize_t len = syscall(__NR_listxattrat, dir_fd, name, AT_SYMLINK_NOFOLLOW, list, cap);

		if (len >= 0 || errno != ENOSYS)
			return len;
		atomic_store(&has_no_listxattrat, true);
	}
#endif
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);
	return llistxattr(path, list, cap);
}

static bool is_among(const uint64_t *devices, unsigned count, uint64_t device)
{
	for (unsigned i = 0; i < count; i++) {
		if (devices[i] == device)
			return true;
	}
	return false;
}

static void note(uint64_t *devices, unsigned *count, uint64_t device)
{
	if (*count == ATTRIBUTE_DEVICES)
		*count = 0; /* so many file systems: look again rather than grow */
	devices[(*count)++] = device;
}

/* Neither what users nor what ACLs nor what the system would be called is known there. */
static bool has_none(const char *path)
{
	static const char *const names[] = { "user.haul", ATTRIBUTE_ACL_ACCESS, "security.capability", "trusted.haul" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (getxattr(path, names[i], NULL, 0) >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
			return false;
	}
	return true;
}

/* Something that lists nothing: is it its file system that cannot? Asked once for each, of the directory it lies in. */
static void learn(struct attribute_reader *r, int dir_fd, uint64_t device)
{
	char path[PATH_BYTES];
	struct entry_facts facts;

	if (is_among(r->with, r->with_count, device))
		return;
	if (haul_failed(beneath_stat_handle(dir_fd, &facts)) || facts.device != device)
		return; /* a mount point: what lies in it will tell */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
	if (has_none(path))
		note(r->without, &r->without_count, device);
	else
		note(r->with, &r->with_count, device);
}

static bool has_wanted(const char *list, size_t len, unsigned kinds)
{
	for (const char *name = list; name < list + len; name += strlen(name) + 1) {
		if (attribute_kind_of(name, strlen(name)) & kinds)
			return true;
	}
	return false;
}

static bool is_reading(const struct attribute_reader *r, const struct entry_facts *facts)
{
	bool has_user = facts->kind == ENTRY_FILE || facts->kind == ENTRY_DIRECTORY;

	/* Links, fifos, devices have neither user.* nor, but for the latter, ACLs. */
	if (!(has_user ? r->kinds : r->kinds & ~(unsigned)ATTRIBUTE_USER))
		return false;
	if (facts->kind == ENTRY_LINK && !(r->kinds & ATTRIBUTE_TRUSTED))
		return false; /* not root's process: there would be nothing but labels */
	return !is_among(r->without, r->without_count, facts->device);
}

/* By its handle, when that is still what was looked at. */
static haul_status read_found(int dir_fd, const char *name, const struct entry_facts *facts, unsigned kinds,
			      struct attributes **ret_set, bool *ret_left_out)
{
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct entry_facts now;
	haul_status st = HAUL_OK;

	if (fd < 0 || haul_failed(beneath_stat_handle(fd, &now)) || !entry_is_same(&now, facts))
		*ret_left_out = true;
	else
		st = attribute_read(fd, kinds, ret_set, ret_left_out);
	if (fd >= 0)
		(void)close(fd);
	return st;
}

haul_status attribute_read_at(struct attribute_reader *r, int dir_fd, const char *name, const struct entry_facts *facts,
			      struct attributes **ret_set, bool *ret_left_out)
{
	char list[LIST_ON_STACK];
	ssize_t len;

	*ret_set = NULL;
	if (!is_reading(r, facts))
		return HAUL_OK;
	len = list_at(dir_fd, name, list, sizeof(list));
	if (len == 0)
		learn(r, dir_fd, facts->device);
	if (len == 0 || (len < 0 && (errno == EOPNOTSUPP || errno == ENOENT)))
		return HAUL_OK;
	if (len > 0 && !has_wanted(list, (size_t)len, r->kinds))
		return HAUL_OK;
	if (len < 0 && errno != ERANGE) {
		*ret_left_out = true;
		return HAUL_OK;
	}
	return read_found(dir_fd, name, facts, r->kinds, ret_set, ret_left_out);
}

/* The set while it is being read: values lie behind each other in `values`. */
struct reading {
	const char *path;
	struct attribute at[ATTRIBUTES_MAX];
	size_t count, bytes;
	char values[ATTRIBUTES_BYTES_MAX + 1];
	size_t used;
	bool is_left_out;
};

static void read_value(struct reading *r, const char *name, size_t name_len)
{
	size_t room = sizeof(r->values) - r->used;
	ssize_t len;

	if (r->count == ATTRIBUTES_MAX) {
		r->is_left_out = true;
		return;
	}
	len = getxattr(r->path, name, r->values + r->used, room);
	if (len < 0 && errno == ENODATA)
		return; /* gone since it was listed */
	/* room of 0 would ask for the length alone, and cannot be: there is a byte more than the bound */
	if (len < 0 || r->bytes + name_len + (size_t)len > ATTRIBUTES_BYTES_MAX) {
		r->is_left_out = true;
		return;
	}
	r->at[r->count++] = (struct attribute){ name, name_len, r->values + r->used, (size_t)len };
	r->used += (size_t)len;
	r->bytes += name_len + (size_t)len;
}

static haul_status read_all(struct reading *r, const char *list, size_t len, unsigned kinds,
			    struct attributes **ret_set, bool *ret_left_out)
{
	for (const char *name = list; name < list + len; name += strlen(name) + 1) {
		if (attribute_kind_of(name, strlen(name)) & kinds)
			read_value(r, name, strlen(name));
	}
	if (r->is_left_out)
		*ret_left_out = true;
	return attributes_copy(r->at, r->count, ret_set);
}

haul_status attribute_read(int fd, unsigned kinds, struct attributes **ret_set, bool *ret_left_out)
{
	struct reading *r = malloc(sizeof(*r));
	char *list = malloc(LIST_BYTES_MAX), path[PATH_BYTES];
	haul_status st = r && list ? HAUL_OK : HAUL_NO_MEMORY;
	ssize_t len = 0;

	*ret_set = NULL;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (haul_ok(st))
		len = listxattr(path, list, LIST_BYTES_MAX);
	if (len < 0 && errno != EOPNOTSUPP)
		*ret_left_out = true;
	if (len > 0) {
		r->path = path;
		r->count = r->bytes = r->used = 0;
		r->is_left_out = false;
		st = read_all(r, list, (size_t)len, kinds, ret_set, ret_left_out);
	}
	free(list);
	free(r);
	return st;
}
