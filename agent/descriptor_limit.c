/* Fails: where the limits cannot be read or set; nothing depends on it but how much can be done at once. */
#include "agent/descriptor_limit.h"

#include <sys/resource.h>

bool descriptor_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}
