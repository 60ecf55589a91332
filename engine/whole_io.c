/* EINTR is no end; a read of nothing is. */
#include "engine/whole_io.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

static const int64_t where_it_stands = -1;

static haul_status write_from(int fd, const uint8_t *data, size_t len, int64_t offset)
{
	while (len) {
		ssize_t n = offset == where_it_stands ? write(fd, data, len) : pwrite(fd, data, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return haul_status_from_errno(n < 0 ? errno : EIO);
		data += n;
		len -= (size_t)n;
		offset += offset == where_it_stands ? 0 : n;
	}
	return HAUL_OK;
}

static haul_status read_from(int fd, uint8_t *ret_data, size_t len, int64_t offset, size_t *ret_got)
{
	ssize_t n = 1;

	for (*ret_got = 0; *ret_got < len && n;) {
		n = offset == where_it_stands
			? read(fd, ret_data + *ret_got, len - *ret_got)
			: pread(fd, ret_data + *ret_got, len - *ret_got, (off_t)offset + (off_t)*ret_got);
		if (n < 0 && errno != EINTR)
			return haul_status_from_errno(errno);
		*ret_got += n > 0 ? (size_t)n : 0;
	}
	return HAUL_OK;
}

haul_status write_whole(int fd, const void *data, size_t len)
{
	return write_from(fd, data, len, where_it_stands);
}

haul_status write_whole_at(int fd, const void *data, size_t len, uint64_t offset)
{
	return offset > INT64_MAX ? HAUL_TOO_BIG : write_from(fd, data, len, (int64_t)offset);
}

haul_status read_up_to(int fd, void *ret_data, size_t len, size_t *ret_got)
{
	return read_from(fd, ret_data, len, where_it_stands, ret_got);
}

haul_status read_up_to_at(int fd, void *ret_data, size_t len, uint64_t offset, size_t *ret_got)
{
	*ret_got = 0;
	return offset > INT64_MAX ? HAUL_TOO_BIG : read_from(fd, ret_data, len, (int64_t)offset, ret_got);
}
