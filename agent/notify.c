/* One datagram per state. A name that begins with '@' lies in the abstract name space (unix(7)). */
#include "agent/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_manager(const char *state)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = name ? strlen(name) : 0;
	socklen_t address_len;
	int fd;

	if (!len || len >= sizeof(address.sun_path) || (*name != '/' && *name != '@'))
		return;
	memcpy(address.sun_path, name, len);
	if (*name == '@')
		address.sun_path[0] = '\0';
	address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, address_len);
	(void)close(fd);
}
