/* One place where a kernel's description of a file becomes ours. Cannot fail. */
#include "engine/facts.h"

#include <assert.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static_assert(FACTS_STATX_MASK == STATX_BASIC_STATS, "the mask in the header spares its users <sys/stat.h>");

enum entry_kind facts_kind(unsigned mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return ENTRY_FILE;
	case S_IFDIR:
		return ENTRY_DIRECTORY;
	case S_IFLNK:
		return ENTRY_LINK;
	case S_IFIFO:
		return ENTRY_FIFO;
	case S_IFSOCK:
		return ENTRY_SOCKET;
	case S_IFCHR:
		return ENTRY_CHAR_DEVICE;
	default: /* the seven kinds of inode(7): this is the last */
		return ENTRY_BLOCK_DEVICE;
	}
}

void facts_from_statx(const struct statx *sx, struct entry_facts *ret_facts)
{
	enum entry_kind kind = facts_kind(sx->stx_mode);

	*ret_facts = (struct entry_facts){
		.kind = kind,
		.mode = sx->stx_mode & 07777u,
		.size = kind == ENTRY_FILE ? sx->stx_size : 0,
		.mtime = { .sec = sx->stx_mtime.tv_sec, .nsec = sx->stx_mtime.tv_nsec },
		.ctime = { .sec = sx->stx_ctime.tv_sec, .nsec = sx->stx_ctime.tv_nsec },
		.uid = sx->stx_uid,
		.gid = sx->stx_gid,
		.rdev = makedev(sx->stx_rdev_major, sx->stx_rdev_minor),
		.device = makedev(sx->stx_dev_major, sx->stx_dev_minor),
		.inode = sx->stx_ino,
		.links = sx->stx_nlink,
		.blocks = sx->stx_blocks,
	};
}
