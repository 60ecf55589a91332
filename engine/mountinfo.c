/*
 * "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue": the number of optional fields
 * before the single "-" varies. Cannot fail but by not being such a line.
 */
#include "engine/mountinfo.h"

#include <stdio.h>
#include <string.h>

bool mount_line_parse(char *line, struct mount_line *ret_mount)
{
	struct mount_line m = { .id = 0 };
	unsigned long long id;
	char *tail = strstr(line, " - ");
	char *rest = NULL;

	if (!tail || sscanf(line, "%llu %*u %u:%u ", &id, &m.major, &m.minor) != 3)
		return false;
	m.id = id;
	m.file_system = strtok_r(tail + 3, " \n", &rest);
	m.source = strtok_r(NULL, " \n", &rest);
	if (!m.file_system || !m.source)
		return false;
	*ret_mount = m;
	return true;
}
