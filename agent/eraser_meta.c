/* Lists and values of up to 4 KiB; what is longer counts as not carried over. */
#include "agent/eraser_meta.h"

#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LIST_BYTES = 4096, PATH_BYTES = 40, SHOWN_BYTES = 128 };

#define REMEDY "make it so there and run again, or haul remove it here"

static const char *const labels[] = { "security.selinux", "security.ima", "security.evm" };

static bool is_label(const char *name)
{
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		if (strcmp(name, labels[i]) == 0)
			return true;
	return false;
}

static haul_status lacks(const char *name, struct haul_fault *fault)
{
	char shown[SHOWN_BYTES];

	return haul_fault_set(fault, HAUL_UNSUPPORTED, "what landed lacks its extended attribute or ACL %s: " REMEDY,
			      haul_escape(name, strlen(name), shown, sizeof(shown)));
}

static bool is_same_value(const char *from, const char *to, const char *name)
{
	char a[LIST_BYTES], b[LIST_BYTES];
	ssize_t a_len = getxattr(from, name, a, sizeof(a)), b_len = getxattr(to, name, b, sizeof(b));

	return a_len >= 0 && a_len == b_len && memcmp(a, b, (size_t)a_len) == 0;
}

static haul_status check_attributes(int from_fd, int to_fd, struct haul_fault *fault)
{
	char from[PATH_BYTES], to[PATH_BYTES], list[LIST_BYTES];
	ssize_t len;

	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", from_fd);
	(void)snprintf(to, sizeof(to), "/proc/self/fd/%d", to_fd);
	len = listxattr(from, list, sizeof(list));
	if (len < 0 && (errno == ENOTSUP || errno == ENOSYS))
		return HAUL_OK;
	if (len < 0)
		return haul_fault_errno(fault, errno, "its extended attributes cannot be read");
	for (const char *name = list; name < list + len; name += strlen(name) + 1)
		if (!is_label(name) && !is_same_value(from, to, name))
			return lacks(name, fault);
	return HAUL_OK;
}

static haul_status check_handles(int from_fd, int to_fd, struct haul_fault *fault)
{
	struct entry_facts from, to;
	haul_status st = beneath_stat_handle(from_fd, &from);

	if (haul_ok(st))
		st = beneath_stat_handle(to_fd, &to);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	if (from.uid != to.uid || from.gid != to.gid)
		return haul_fault_set(fault, HAUL_UNSUPPORTED, "it belongs to %u:%u, what landed to %u:%u: " REMEDY,
				      (unsigned)from.uid, (unsigned)from.gid, (unsigned)to.uid, (unsigned)to.gid);
	if (from.kind == ENTRY_LINK)
		return HAUL_OK;
	if (from.mode & ~to.mode)
		return haul_fault_set(fault, HAUL_UNSUPPORTED,
				      "its permission bits are %04o, those of what landed %04o: " REMEDY,
				      (unsigned)from.mode, (unsigned)to.mode);
	return check_attributes(from_fd, to_fd, fault);
}

haul_status eraser_check_meta(int dir_fd, const char *name, int to_fd, const char *to_name, struct haul_fault *fault)
{
	int from = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int to = from < 0 ? -1 : openat(to_fd, to_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	haul_status st = to < 0 ? haul_fault_errno(fault, errno, "it cannot be compared with what landed")
				: check_handles(from, to, fault);

	if (to >= 0)
		(void)close(to);
	if (from >= 0)
		(void)close(from);
	return st;
}

static bool matters(const char *name, bool is_privileged)
{
	if (is_privileged && strncmp(name, "security.", 9) != 0 && strncmp(name, "trusted.", 8) != 0)
		return false;
	return !is_label(name);
}

static haul_status check_none(int fd, bool is_privileged, struct haul_fault *fault)
{
	char path[PATH_BYTES], list[LIST_BYTES], shown[SHOWN_BYTES];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = listxattr(path, list, sizeof(list));
	if (len < 0 && (errno == ENOTSUP || errno == ENOSYS))
		return HAUL_OK;
	if (len < 0)
		return haul_fault_errno(fault, errno, "its extended attributes cannot be read");
	for (const char *name = list; name < list + len; name += strlen(name) + 1) {
		if (matters(name, is_privileged))
			return haul_fault_set(
			    fault, HAUL_UNSUPPORTED,
			    "its extended attribute or ACL %s may not have been kept there: make it so and "
			    "run again, or haul remove it here",
			    haul_escape(name, strlen(name), shown, sizeof(shown)));
	}
	return HAUL_OK;
}

haul_status eraser_check_carried(int dir_fd, const char *name, bool is_privileged, struct haul_fault *fault)
{
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	haul_status st = HAUL_OK;
	struct entry_facts facts;

	if (fd < 0)
		return haul_fault_errno(fault, errno, "its extended attributes cannot be read");
	if (haul_failed(beneath_stat_handle(fd, &facts)) || facts.kind != ENTRY_LINK)
		st = check_none(fd, is_privileged, fault);
	(void)close(fd);
	return st;
}
