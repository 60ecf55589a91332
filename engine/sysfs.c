/* Whatever is missing is simply not known: nothing here fails otherwise. */
#include "engine/sysfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool join(const char *path, const char *name, char ret_full[PATH_MAX])
{
	return snprintf(ret_full, PATH_MAX, "%s/%s", path, name) < PATH_MAX;
}

bool sysfs_go(char path[PATH_MAX], const char *name)
{
	char next[PATH_MAX], real[PATH_MAX];

	if (!join(path, name, next) || !realpath(next, real))
		return false;
	memcpy(path, real, strlen(real) + 1);
	return true;
}

bool sysfs_has(const char *path, const char *name)
{
	char full[PATH_MAX];

	return join(path, name, full) && access(full, F_OK) == 0;
}

bool sysfs_line(const char *path, const char *name, char *ret_line, size_t cap)
{
	char full[PATH_MAX], *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *f = join(path, name, full) ? fopen(full, "re") : NULL;

	if (!f)
		return false;
	len = getline(&line, &room, f);
	(void)fclose(f);
	if (len > 0 && line[len - 1] == '\n')
		line[--len] = '\0';
	if (len > 0)
		(void)snprintf(ret_line, cap, "%s", line);
	free(line);
	return len > 0;
}

uint64_t sysfs_number(const char *path, const char *name)
{
	char line[32];

	return sysfs_line(path, name, line, sizeof(line)) && line[0] != '-' ? strtoull(line, NULL, 10) : 0;
}

bool sysfs_link_name(const char *path, const char *name, char *ret_name, size_t cap)
{
	char target[PATH_MAX] = "";

	(void)snprintf(target, sizeof(target), "%s", path);
	if (!sysfs_go(target, name))
		return false;
	(void)snprintf(ret_name, cap, "%s", strrchr(target, '/') + 1);
	return true;
}

void sysfs_each(const char *path, const char *name, void (*each)(void *ctx, const char *entry), void *ctx)
{
	char full[PATH_MAX];
	DIR *dir = join(path, name, full) ? opendir(full) : NULL;
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			each(ctx, entry->d_name);
	(void)closedir(dir);
}
