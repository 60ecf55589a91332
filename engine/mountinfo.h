/* One line of /proc/self/mountinfo (proc(5)). Internal to the engine. Thread: any; no state. */
#ifndef HAUL_ENGINE_MOUNTINFO_H
#define HAUL_ENGINE_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

struct mount_line {
	uint64_t id;
	unsigned major, minor;
	const char *file_system; /* "ext4", "fuse.sshfs"; points into the line */
	const char *source;      /* "/dev/sda1", "server:/export"; octal escapes left as they are */
};

/* Take a line apart in place. False when it is not one. */
bool mount_line_parse(char *line, struct mount_line *ret_mount);

#endif
