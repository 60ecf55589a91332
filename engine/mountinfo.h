/* One line of /proc/self/mountinfo (proc(5)). Internal to the engine. Thread: any; no state. */
#ifndef HAUL_ENGINE_MOUNTINFO_H
#define HAUL_ENGINE_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

struct mount_line {
	uint64_t id;
	unsigned major, minor;
	/* These point into the line; octal escapes are undone. */
	const char *root;        /* what of the file system is mounted: "/", "/sub" */
	const char *point;       /* where: "/mnt" */
	const char *file_system; /* "ext4", "fuse.sshfs" */
	const char *source;      /* "/dev/sda1", "server:/export" */
};

/* Take a line apart in place. False when it is not one. */
bool mount_line_parse(char *line, struct mount_line *ret_mount);

#endif
