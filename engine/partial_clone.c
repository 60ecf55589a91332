/* Content by sharing extents: btrfs, XFS with reflink, and whatever else answers FICLONE. */
#include "engine/partial.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

haul_status partial_clone(struct partial *f, int source_fd)
{
	int failed;

	do {
		failed = ioctl(f->file.fd, FICLONE, source_fd);
	} while (failed && errno == EINTR);
	if (!failed)
		return HAUL_OK;
	switch (errno) {
	case EXDEV:
	case EOPNOTSUPP:
	case ENOTTY:
	case ENOSYS:
		return HAUL_CROSS_DEVICE;
	case EINVAL: /* one of them has checksums or copy-on-write turned off, and so on (ioctl_ficlonerange(2)) */
	case EPERM:
	case ETXTBSY:
		return HAUL_UNSUPPORTED;
	default:
		return haul_status_from_errno(errno);
	}
}
