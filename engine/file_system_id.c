/* statfs(2) and /proc/self/mountinfo. */
#include "engine/file_system_id.h"

#include "engine/leaf_stream.h"
#include "engine/mountinfo.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

static bool has_stored_id(long type)
{
	return type == EXT4_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC;
}

/* What is mounted where the device number says. */
static bool add_mount(struct leaf_stream *s, dev_t device)
{
	struct mount_line mount;
	char *line = NULL;
	size_t cap = 0;
	bool is_found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f && !is_found && getline(&line, &cap, f) > 0) {
		is_found =
		    mount_line_parse(line, &mount) && mount.major == major(device) && mount.minor == minor(device);
		if (is_found)
			leaf_stream_add(s, mount.source, strlen(mount.source) + 1);
	}
	free(line);
	if (f)
		(void)fclose(f);
	return is_found;
}

bool file_system_id(int fd, uint8_t ret_id[FILE_SYSTEM_ID_BYTES])
{
	struct leaf_stream s;
	struct haul_digest digest;
	struct statfs fs;
	struct stat st;
	bool is_known = true;

	_Static_assert(sizeof(digest.bytes) == FILE_SYSTEM_ID_BYTES, "an id is a digest");
	memset(ret_id, 0, FILE_SYSTEM_ID_BYTES);
	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return false;
	leaf_stream_begin(&s);
	leaf_stream_add(&s, &fs.f_type, sizeof(fs.f_type));
	if (has_stored_id((long)fs.f_type))
		leaf_stream_add(&s, &fs.f_fsid, sizeof(fs.f_fsid));
	else
		is_known = add_mount(&s, st.st_dev);
	leaf_stream_end(&s, &digest);
	if (is_known)
		memcpy(ret_id, digest.bytes, FILE_SYSTEM_ID_BYTES);
	return is_known;
}
