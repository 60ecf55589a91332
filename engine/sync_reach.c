#include "engine/sync_reach.h"

#include <linux/magic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xff534d42
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xfe534d42
#endif

bool sync_reaches_all(int fd)
{
	static const uint32_t deaf[] = { FUSE_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, SMB_SUPER_MAGIC,
					 V9FS_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false; /* what is not known is not relied on */
	for (size_t i = 0; i < sizeof(deaf) / sizeof(deaf[0]); i++) {
		if ((uint32_t)fs.f_type == deaf[i])
			return false;
	}
	return true;
}
