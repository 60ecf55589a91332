/* The texts of the status list, and the one place where errno becomes a status. */
#include "engine/base/status.h"

#include <errno.h>

const char *haul_status_text(haul_status st)
{
	switch (st.code) {
#define X(name, value, text)                                                                                           \
	case HAUL_CODE_##name:                                                                                         \
		return text;
		HAUL_STATUS_LIST(X)
#undef X
	}
	return "unknown failure";
}

haul_status haul_status_from_number(unsigned number)
{
	switch (number) {
#define X(name, value, text)                                                                                           \
	case value:                                                                                                    \
		return HAUL_##name;
		HAUL_STATUS_LIST(X)
#undef X
	default:
		return HAUL_BUG;
	}
}

haul_status haul_status_from_errno(int err)
{
	switch (err) {
	case ENOMEM:
		return HAUL_NO_MEMORY;
	case ENOSPC:
		return HAUL_NO_SPACE;
	case EDQUOT:
		return HAUL_QUOTA;
	case ENOENT:
		return HAUL_NOT_FOUND;
	case EEXIST:
		return HAUL_EXISTS;
	case EACCES:
	case EPERM:
		return HAUL_DENIED;
	case ENOTDIR:
		return HAUL_NOT_DIRECTORY;
	case EISDIR:
		return HAUL_IS_DIRECTORY;
	case ELOOP:
		return HAUL_LINK_IN_PATH;
	case EXDEV:
		return HAUL_CROSS_DEVICE;
	case EFBIG:
		return HAUL_TOO_BIG;
	case EROFS:
		return HAUL_READ_ONLY;
	case ENAMETOOLONG:
		return HAUL_NAME_TOO_LONG;
	case ENOTEMPTY:
		return HAUL_NOT_EMPTY;
	case EMFILE:
	case ENFILE:
		return HAUL_TOO_MANY_OPEN;
	case EBUSY:
	case EAGAIN:
		return HAUL_BUSY;
	case EOPNOTSUPP:
	case ENOSYS:
		return HAUL_UNSUPPORTED;
	case EINTR:
	case ECANCELED:
		return HAUL_CANCELLED;
	case ECONNREFUSED:
		return HAUL_REFUSED;
	case ETIMEDOUT:
		return HAUL_TIMED_OUT;
	case ECONNRESET:
	case EPIPE:
		return HAUL_LOST;
	case EHOSTUNREACH:
	case ENETUNREACH:
		return HAUL_NO_ROUTE;
	default:
		return HAUL_IO;
	}
}
