/*
 * Files put aside before they are deleted: out of their directory, under their own names, into a private one in it,
 * `.haul-aside-` and 32 hexadecimal digits. So whoever looks at the same directory by another way sees it too, and
 * after a crash they can be put back. Blocking; handles of directories are borrowed and may be O_PATH.
 *
 * While one lives it is held by a lock (flock); a file system without such locks lets others put back what is in it,
 * which keeps a file and never loses one.
 */
#ifndef HAUL_ENGINE_ASIDE_H
#define HAUL_ENGINE_ASIDE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASIDE_TOKEN_BYTES = 16, ASIDE_NAME_BYTES = 64 };

/* The name that a token stands for. */
void aside_name(const uint8_t token[ASIDE_TOKEN_BYTES], char ret_name[ASIDE_NAME_BYTES]);
bool aside_name_is(const char *name);

/* Make it in `dir_fd` and lock it. *ret_fd is given. By errno. */
HAUL_MUST_USE haul_status aside_open(int dir_fd, const char *aside, int *ret_fd);
/* Unlock it, close the handle, and remove it when it is empty. HAUL_NOT_EMPTY (HAUL_EXISTS): something is left in it.
 */
HAUL_MUST_USE haul_status aside_close(int dir_fd, const char *aside, int aside_fd);

/* Between the two, under the same name. HAUL_EXISTS: the name is taken there. By errno. */
HAUL_MUST_USE haul_status aside_take(int dir_fd, const char *name, int aside_fd);
HAUL_MUST_USE haul_status aside_give_back(int aside_fd, const char *name, int dir_fd);

/*
 * Put back what a process that died has left aside in this directory, as far as its names are free, and remove what is
 * empty then. What lives, or cannot be put back, stays as it is. Returns how many entries are back.
 */
size_t aside_restore(int dir_fd);

/* The same in the directory that `path` (below root_fd) lies in. */
size_t aside_restore_beside(int root_fd, const char *path);

#endif
