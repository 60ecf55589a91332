/* getpwnam_r(3) says 0 and no result for "no such name"; several systems say it by an error number too. */
#include "engine/owner_names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { BUFFER_BYTES = 64 * 1024 }; /* a group's entry has the names of its members */

/* One question and its answer. */
struct lookup {
	bool is_group;
	const char *name; /* NULL: by id */
	uint32_t id;
	char *buffer;
	struct passwd user, *found_user;
	struct group group, *found_group;
};

static int ask(struct lookup *l)
{
	if (l->is_group && l->name)
		return getgrnam_r(l->name, &l->group, l->buffer, BUFFER_BYTES, &l->found_group);
	if (l->is_group)
		return getgrgid_r(l->id, &l->group, l->buffer, BUFFER_BYTES, &l->found_group);
	if (l->name)
		return getpwnam_r(l->name, &l->user, l->buffer, BUFFER_BYTES, &l->found_user);
	return getpwuid_r(l->id, &l->user, l->buffer, BUFFER_BYTES, &l->found_user);
}

const char *owner_name_of(uint32_t id, bool is_group, char ret_name[OWNER_NAME_MAX + 1])
{
	struct lookup l = { .is_group = is_group, .id = id, .buffer = malloc(BUFFER_BYTES) };
	const char *name = NULL;

	ret_name[0] = '\0';
	if (l.buffer && ask(&l) == 0)
		name = l.found_group ? l.group.gr_name : l.found_user ? l.user.pw_name : NULL;
	if (name && strlen(name) <= OWNER_NAME_MAX)
		memcpy(ret_name, name, strlen(name) + 1);
	free(l.buffer);
	return ret_name;
}

haul_status owner_number_of(const char *name, bool is_group, uint32_t *ret_id)
{
	struct lookup l = { .is_group = is_group, .name = name, .buffer = malloc(BUFFER_BYTES) };
	haul_status st = HAUL_NOT_FOUND;
	int err = l.buffer ? ask(&l) : ENOMEM;

	if (err && err != ENOENT && err != ESRCH && err != EBADF && err != EPERM) {
		st = haul_status_from_errno(err);
	} else if (l.found_group || l.found_user) {
		*ret_id = l.found_group ? l.group.gr_gid : l.user.pw_uid;
		st = HAUL_OK;
	}
	free(l.buffer);
	return st;
}
