/* statvfs counts in fragments; their product is a file system's own claim. Fails as fstatvfs does. */
#include "engine/room.h"

#include "engine/base/checked.h"

#include <errno.h>
#include <sys/statvfs.h>

static uint64_t bytes_of(uint64_t fragments, uint64_t fragment_bytes)
{
	uint64_t bytes = UINT64_MAX;

	return haul_failed(haul_mul_u64(fragments, fragment_bytes, &bytes)) ? UINT64_MAX : bytes;
}

haul_status room_of(int fd, uint64_t *ret_free, uint64_t *ret_total)
{
	struct statvfs facts;

	if (fstatvfs(fd, &facts))
		return haul_status_from_errno(errno);
	*ret_free = bytes_of(facts.f_bavail, facts.f_frsize);
	if (ret_total)
		*ret_total = bytes_of(facts.f_blocks, facts.f_frsize);
	return HAUL_OK;
}
