/*
 * "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue": the number of optional fields
 * before the single "-" varies. Cannot fail but by not being such a line.
 */
#include "engine/mountinfo.h"

#include <stdio.h>
#include <string.h>

static bool is_octal(const char *at)
{
	for (int i = 0; i < 3; i++)
		if (at[i] < '0' || at[i] > '7')
			return false;
	return true;
}

/* The next field, "\040" and the like undone in place; NULL: there is none. */
static const char *next_field(char *from, char **rest)
{
	char *field = strtok_r(from, " \n", rest), *to = field;

	if (!field)
		return NULL;
	for (const char *at = field; *at; at++)
		if (*at == '\\' && is_octal(at + 1)) {
			*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	*to = '\0';
	return field;
}

bool mount_line_parse(char *line, struct mount_line *ret_mount)
{
	struct mount_line m = { .id = 0 };
	unsigned long long id;
	char *tail = strstr(line, " - ");
	char *rest = NULL;
	int used = 0;

	if (!tail || sscanf(line, "%llu %*u %u:%u %n", &id, &m.major, &m.minor, &used) != 3 || line + used >= tail)
		return false;
	m.id = id;
	*tail = '\0';
	m.root = next_field(line + used, &rest);
	m.point = next_field(NULL, &rest);
	m.file_system = next_field(tail + 3, &rest);
	m.source = next_field(NULL, &rest);
	if (!m.root || !m.point || !m.file_system || !m.source)
		return false;
	*ret_mount = m;
	return true;
}
