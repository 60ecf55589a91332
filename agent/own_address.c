/* getifaddrs(3), sifted. It is a guess for a person to look at: nothing is decided by it. */
#include "agent/own_address.h"

#include "agent/place_spec.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct found {
	char (*addresses)[OWN_ADDRESS_MAX];
	size_t count, cap;
};

static void add(struct found *f, const char *host, bool is_v6, unsigned port)
{
	char text[OWN_ADDRESS_MAX];

	(void)snprintf(text, sizeof(text), is_v6 ? "[%s]:%u" : "%s:%u", host, port);
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->addresses[i], text))
			return;
	if (f->count < f->cap)
		memcpy(f->addresses[f->count++], text, sizeof(text));
}

/* Bridges and pairs of container and virtual machine software: not reachable from other machines. */
static bool is_inner(const char *interface)
{
	static const char *const prefixes[] = { "docker", "br-",     "veth", "virbr", "vnet",
						"cni",    "flannel", "lxc",  "podman" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(interface, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool is_for_others(const struct ifaddrs *i, int family)
{
	if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP))
		return false;
	return !(i->ifa_flags & IFF_LOOPBACK) && !is_inner(i->ifa_name);
}

static void add_v4(struct found *f, const struct ifaddrs *i, unsigned port)
{
	struct sockaddr_in address;
	char host[INET_ADDRSTRLEN];

	memcpy(&address, i->ifa_addr, sizeof(address));
	if (inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host)))
		add(f, host, false, port);
}

static void add_v6(struct found *f, const struct ifaddrs *i, unsigned port)
{
	struct sockaddr_in6 address;
	char host[INET6_ADDRSTRLEN];

	memcpy(&address, i->ifa_addr, sizeof(address));
	if (IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr)) /* means nothing without an interface over there */
		return;
	if (inet_ntop(AF_INET6, &address.sin6_addr, host, sizeof(host)))
		add(f, host, true, port);
}

static void add_interfaces(struct found *f, unsigned port, bool has_v4, bool has_v6)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *i = all; i && has_v4; i = i->ifa_next)
		if (is_for_others(i, AF_INET))
			add_v4(f, i, port);
	/* IPv6 only when there is nothing shorter: its addresses come and go. */
	for (const struct ifaddrs *i = all; i && has_v6 && !f->count; i = i->ifa_next)
		if (is_for_others(i, AF_INET6))
			add_v6(f, i, port);
	freeifaddrs(all);
}

/* One "HOST:PORT" of the agent's list, `len` bytes at `text`. */
static void add_listening(struct found *f, const char *text, size_t len)
{
	char host[OWN_ADDRESS_MAX];
	char *colon;
	unsigned port;

	if (len >= sizeof(host))
		return;
	memcpy(host, text, len);
	host[len] = '\0';
	colon = strrchr(host, ':');
	port = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
	if (!colon || !port || port > UINT16_MAX)
		return;
	*colon = '\0';
	if (!strcmp(host, "0.0.0.0")) {
		add_interfaces(f, port, true, false);
	} else if (!strcmp(host, "[::]")) {
		add_interfaces(f, port, true, true);
	} else if (host[0] == '[') {
		host[strlen(host) - 1] = '\0';
		add(f, host + 1, true, port);
	} else {
		add(f, host, false, port);
	}
}

size_t own_addresses(const char *listening, char (*ret_addresses)[OWN_ADDRESS_MAX], size_t cap)
{
	struct found f = { .addresses = ret_addresses, .cap = cap };
	unsigned port = HAUL_DEFAULT_PORT;
	const char *last = strrchr(listening, ':');

	for (const char *at = listening; *at;) {
		size_t len = strcspn(at, " ");

		add_listening(&f, at, len);
		at += len;
		at += strspn(at, " ");
	}
	if (!*listening)
		add_interfaces(&f, port, true, true);
	if (!f.count && last)
		port = (unsigned)strtoul(last + 1, NULL, 10);
	if (!f.count)
		add(&f, "127.0.0.1", false, port);
	return f.count;
}
