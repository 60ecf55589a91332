/* The public side of a home's identity, for those who only show it. */
#include "agent/home.h"

#include "certs/identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

haul_status home_identity(const struct home *h, struct home_identity *ret_identity, struct haul_fault *fault)
{
	struct identity *identity;
	int dir_fd;
	haul_status st = home_open_config(h, &dir_fd, fault);

	if (haul_failed(st))
		return st;
	st = identity_open(dir_fd, &identity, fault);
	close(dir_fd);
	if (haul_failed(st))
		return st;
	memcpy(ret_identity->device_id, identity_device_id(identity), sizeof(ret_identity->device_id));
	device_id_text(ret_identity->device_id, ret_identity->device_id_text);
	identity_free(identity);
	return HAUL_OK;
}
