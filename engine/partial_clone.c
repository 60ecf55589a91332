/* Content by sharing extents: btrfs, XFS with reflink, and whatever else answers FICLONE. */
#include "engine/place.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* A shorter file ends within the partial, which must not reach further (ioctl_ficlonerange(2), EINVAL). */
static haul_status clone_shorter(struct partial *f, int source_fd)
{
	haul_status st = HAUL_OK;

	if (ftruncate(f->file.fd, 0) < 0)
		return haul_status_from_errno(errno);
	st = partial_clone(f, source_fd);
	if (haul_failed(st)) {
		haul_status room = partial_make_room(f->file.fd, f->size, f->is_sparse);

		return haul_ok(room) ? st : room;
	}
	return HAUL_OK;
}

haul_status partial_clone_basis(struct partial *f, int source_fd)
{
	haul_status st = partial_clone(f, source_fd);

	if (st.code == HAUL_CODE_UNSUPPORTED)
		st = clone_shorter(f, source_fd);
	if (haul_ok(st) && ftruncate(f->file.fd, (off_t)f->size) < 0)
		st = haul_status_from_errno(errno);
	if (haul_ok(st))
		f->file.facts.size = f->size;
	return st;
}
