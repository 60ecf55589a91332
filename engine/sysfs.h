/* Small steps in a tree like sysfs. Internal to the engine. Blocking; any thread; no state. */
#ifndef HAUL_ENGINE_SYSFS_H
#define HAUL_ENGINE_SYSFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* realpath(path/name) into path; false leaves it as it was. */
bool sysfs_go(char path[PATH_MAX], const char *name);

bool sysfs_has(const char *path, const char *name);

/* The unsigned number in the file path/name; 0 when there is none. */
uint64_t sysfs_number(const char *path, const char *name);

/* The first line of the file path/name without its end, cut to `cap`; false when there is none. */
bool sysfs_line(const char *path, const char *name, char *ret_line, size_t cap);

/* The last component of what the link path/name leads to. */
bool sysfs_link_name(const char *path, const char *name, char *ret_name, size_t cap);

/* Call `each` with the name of every entry of the directory path/name that does not begin with a dot. */
void sysfs_each(const char *path, const char *name, void (*each)(void *ctx, const char *entry), void *ctx);

#endif
