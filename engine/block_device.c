/*
 * Paths in sysfs, all relative to the device's own directory. A partition has no queue: its parent directory is the
 * disk. Device mapper and RAID list their members in slaves/. NVMe hangs one level deeper than the rest
 * (nvme0n1/device is the controller, the driver is its parent's). Devices without a parent (loop, zram) are named for
 * their kind. Whatever is missing is simply not known.
 */
#include "engine/block_device.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { STACK_MAX = 8 /* device mapper on RAID on partitions, and then some */ };

/* realpath(path/name) into path; false leaves it as it was. */
static bool go_to(char path[PATH_MAX], const char *name)
{
	char next[PATH_MAX], real[PATH_MAX];

	if (snprintf(next, sizeof(next), "%s/%s", path, name) >= (int)sizeof(next) || !realpath(next, real))
		return false;
	memcpy(path, real, strlen(real) + 1);
	return true;
}

static bool has(const char *path, const char *name)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s/%s", path, name) < (int)sizeof(full) && access(full, F_OK) == 0;
}

static bool go_to_first_member(char path[PATH_MAX])
{
	char member[PATH_MAX] = "", slaves[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (snprintf(slaves, sizeof(slaves), "%s/slaves", path) >= (int)sizeof(slaves))
		return false;
	dir = opendir(slaves);
	if (!dir)
		return false;
	while (!member[0] && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			(void)snprintf(member, sizeof(member), "slaves/%s", entry->d_name);
	(void)closedir(dir);
	return member[0] && go_to(path, member);
}

/* The name of what the link path/name points at. */
static bool link_name(const char *path, const char *name, char *ret_name, size_t cap)
{
	char target[PATH_MAX] = "";

	(void)snprintf(target, sizeof(target), "%s", path);
	if (!go_to(target, name))
		return false;
	(void)snprintf(ret_name, cap, "%s", strrchr(target, '/') + 1);
	return true;
}

/* "loop0" is a loop, "dm-3" a dm. */
static void kind_name(const char *path, char *ret_name, size_t cap)
{
	size_t len;

	(void)snprintf(ret_name, cap, "%s", strrchr(path, '/') + 1);
	len = strlen(ret_name);
	while (len > 0 && (isdigit((unsigned char)ret_name[len - 1]) || ret_name[len - 1] == '-'))
		ret_name[--len] = '\0';
}

static bool says_rotational(const char *path)
{
	char full[PATH_MAX];
	int c = 0;
	FILE *f;

	if (snprintf(full, sizeof(full), "%s/queue/rotational", path) >= (int)sizeof(full))
		return false;
	f = fopen(full, "re");
	if (!f)
		return false;
	c = getc(f);
	(void)fclose(f);
	return c == '1';
}

void block_device_look(const char *sys_root, dev_t dev, char *ret_driver, size_t cap, bool *ret_says_rotational)
{
	char path[PATH_MAX], name[64];

	ret_driver[0] = '\0';
	*ret_says_rotational = false;
	(void)snprintf(path, sizeof(path), "%s", sys_root);
	(void)snprintf(name, sizeof(name), "dev/block/%u:%u", major(dev), minor(dev));
	if (!go_to(path, name))
		return;
	for (unsigned i = 0; i < STACK_MAX; i++) {
		if (has(path, "partition"))
			(void)go_to(path, "..");
		if (!go_to_first_member(path))
			break;
	}
	*ret_says_rotational = says_rotational(path);
	if (!link_name(path, "device/driver", ret_driver, cap) &&
	    !link_name(path, "device/device/driver", ret_driver, cap))
		kind_name(path, ret_driver, cap);
}
