/*
 * Direct or not is settled in two steps: here, from what was asked, the size and the file system; and at the first
 * request, because some file systems take the flag and refuse the request (engine_request.c then calls
 * disk_file_make_buffered()). Alignment comes from statx; at least 4 KiB for offsets even where the device would take
 * 512 bytes, since writing less than a file system block makes ext4 and XFS serialise all writers of the file.
 */
#include "engine/disk_file.h"

#include "engine/base/checked.h"
#include "engine/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { OFFSET_ALIGN_MIN = 4096, MEMORY_ALIGN_UNKNOWN = 4096 };

bool disk_file_is_in_memory(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
}

/* Set or clear O_DIRECT on the descriptor; 0 or an errno value. */
static int set_direct(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return errno;
	flags = on ? flags | O_DIRECT : flags & ~O_DIRECT;
	return fcntl(fd, F_SETFL, flags) < 0 ? errno : 0;
}

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* False when the kernel says that this file has no direct I/O, or asks for more than a block's room can pad. */
static bool find_alignment(struct disk_file *f, const struct statx *sx)
{
	f->offset_align = OFFSET_ALIGN_MIN;
	f->memory_align = MEMORY_ALIGN_UNKNOWN;
	if (!(sx->stx_mask & STATX_DIOALIGN))
		return true;
	if (!is_power_of_two(sx->stx_dio_offset_align) || !is_power_of_two(sx->stx_dio_mem_align))
		return false;
	if (sx->stx_dio_offset_align > f->offset_align)
		f->offset_align = sx->stx_dio_offset_align;
	f->memory_align = sx->stx_dio_mem_align;
	f->is_align_known = true;
	return f->offset_align <= DISK_FILE_ALIGN_MAX && f->memory_align <= DISK_FILE_ALIGN_MAX;
}

/* Try to make the descriptor direct; the reason why not, otherwise. */
static enum buffered_reason choose(struct disk_file *f, enum direct_mode mode, uint64_t size_hint,
				   const struct statx *sx)
{
	if (mode == DIRECT_NEVER)
		return BUFFERED_ASKED;
	if (mode == DIRECT_AUTO && size_hint < DISK_FILE_DIRECT_MIN)
		return BUFFERED_SMALL;
	if (mode == DIRECT_AUTO && disk_file_is_in_memory(f->fd))
		return BUFFERED_MEMORY_FS;
	if (!find_alignment(f, sx) || set_direct(f->fd, true))
		return BUFFERED_OPEN_REFUSED;
	return BUFFERED_NOT;
}

haul_status disk_file_open(struct disk_file *f, int fd, enum direct_mode mode, uint64_t size_hint,
			   struct haul_fault *fault)
{
	enum buffered_reason reason;
	struct statx sx;

	*f = (struct disk_file){ .fd = -1 };
	if (statx(fd, "", AT_EMPTY_PATH, FACTS_STATX_MASK | STATX_DIOALIGN, &sx) < 0)
		return haul_fault_errno(fault, errno, "look at an open file");
	if (!S_ISREG(sx.stx_mode))
		return haul_fault_set(fault, HAUL_WRONG_KIND, "not a regular file");
	f->fd = fd;
	reason = choose(f, mode, size_hint, &sx);
	if (reason != BUFFERED_NOT && mode == DIRECT_ALWAYS) {
		f->fd = -1;
		return haul_fault_set(fault, HAUL_UNSUPPORTED, "this file system has no direct I/O");
	}
	if (reason != BUFFERED_NOT) {
		f->offset_align = f->memory_align = 1;
		(void)set_direct(fd, false); /* the caller may have opened it with O_DIRECT */
	}
	facts_from_statx(&sx, &f->facts);
	atomic_store(&f->is_direct, reason == BUFFERED_NOT);
	atomic_store(&f->reason, (int)reason);
	return HAUL_OK;
}

haul_status disk_file_make_buffered(struct disk_file *f, enum buffered_reason why)
{
	int err = set_direct(f->fd, false);

	if (err)
		return haul_status_from_errno(err);
	atomic_store(&f->reason, (int)why);
	atomic_store(&f->is_direct, false);
	return HAUL_OK;
}

/* EINTR: Linux has closed the descriptor all the same (close(2)), and nothing is known to be lost. */
haul_status disk_file_close(struct disk_file *f)
{
	int fd = f->fd;

	f->fd = -1;
	if (fd < 0 || close(fd) == 0 || errno == EINTR)
		return HAUL_OK;
	return haul_status_from_errno(errno);
}

const char *buffered_reason_text(enum buffered_reason reason)
{
	switch (reason) {
	case BUFFERED_NOT:
		return "direct";
	case BUFFERED_ASKED:
		return "buffered (as asked)";
	case BUFFERED_SMALL:
		return "buffered (small)";
	case BUFFERED_OPEN_REFUSED:
		return "buffered (file system has no direct I/O)";
	case BUFFERED_IO_REFUSED:
		return "buffered (file system refused direct I/O)";
	case BUFFERED_MEMORY_FS:
		return "buffered (file system lies in memory)";
	case BUFFERED_IO_FAILED:
		return "buffered (direct I/O failed)";
	case BUFFERED_REASONS:
		break;
	}
	return "buffered";
}

const char *disk_file_mode_text(const struct disk_file *f)
{
	return buffered_reason_text((enum buffered_reason)atomic_load(&f->reason));
}

const char *disk_file_text(const struct disk_file *f, char *ret_text, size_t cap)
{
	const char *mode = disk_file_mode_text(f);

	if (!atomic_load(&f->is_direct))
		(void)snprintf(ret_text, cap, "%s", mode);
	else if (f->is_align_known)
		(void)snprintf(ret_text, cap, "%s, offsets aligned to %u and memory to %u bytes", mode, f->offset_align,
			       f->memory_align);
	else
		(void)snprintf(
		    ret_text, cap,
		    "%s as far as is known, offsets and memory aligned to %u bytes (the file system does not tell)",
		    mode, f->offset_align);
	return ret_text;
}
