/*
 * One link a step, as the kernel would follow them (path_resolution(7), 40 at most); each target is looked at without
 * following it, because a link in the middle of a chain counts too.
 */
#include "engine/link_chain.h"

#include "engine/base/status.h"
#include "engine/beneath.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* Where the target of the link lies: its directory (given), and its name, which points into target. */
static bool step(int dir_fd, char *target, size_t len, int *ret_dir_fd, const char **ret_name)
{
	const char *dir = ".";
	char *slash;

	while (len > 1 && target[len - 1] == '/')
		target[--len] = '\0';
	slash = strrchr(target, '/');
	*ret_name = slash ? slash + 1 : target;
	if (!**ret_name)
		return false; /* "/" */
	if (slash == target)
		dir = "/";
	else if (slash) {
		*slash = '\0';
		dir = target;
	}
	*ret_dir_fd = openat(dir_fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret_dir_fd >= 0;
}

bool link_leads_to(int dir_fd, const char *name, const struct entry_facts *thing)
{
	char *target = NULL;
	bool found = false;
	int at = dir_fd;

	for (unsigned i = 0; i < LINKS_MAX && !found; i++) {
		struct entry_facts facts;
		char *before = target;
		int next = -1;
		size_t len;
		bool goes_on;

		if (haul_failed(beneath_read_link(at, name, &target, &len)))
			break;
		goes_on = step(at, target, len, &next, &name);
		free(before);
		if (at != dir_fd)
			(void)close(at);
		at = goes_on ? next : dir_fd;
		if (!goes_on || haul_failed(beneath_stat_at(at, name, &facts)))
			break;
		found = entry_is_same(&facts, thing);
		if (facts.kind != ENTRY_LINK)
			break;
	}
	free(target);
	if (at != dir_fd)
		(void)close(at);
	return found;
}
