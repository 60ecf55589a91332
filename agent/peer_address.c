/* Cutting HOST[:PORT] apart. What could not be part of a host name or a numeric address is refused. */
#include "agent/peer_address.h"

#include "agent/place_spec.h"
#include "engine/base/escape.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 200 };

static haul_status refuse(const char *text, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	return haul_fault_set(fault, HAUL_BAD_VALUE, "%s is no address: write HOST, HOST:PORT or [IPv6]:PORT",
			      haul_escape(text, strlen(text), shown, sizeof(shown)));
}

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* An address, then perhaps a zone: fe80::1%eth0. */
static bool is_v6_host(const char *host)
{
	char number[INET6_ADDRSTRLEN];
	size_t len = strcspn(host, "%");
	struct in6_addr address;

	if (len >= sizeof(number) || (host[len] && (!host[len + 1] || host[len + 1 + strspn(host + len + 1, plain)])))
		return false;
	memcpy(number, host, len);
	number[len] = '\0';
	return inet_pton(AF_INET6, number, &address) == 1;
}

static bool is_host(const char *host, bool is_v6)
{
	if (is_v6)
		return is_v6_host(host);
	return *host && *host != '-' && !host[strspn(host, plain)];
}

/* A decimal port; 0 when it is none. */
static uint16_t port_of(const char *text)
{
	unsigned port = 0;

	if (strlen(text) > 5)
		return 0;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return 0;
		port = port * 10 + (unsigned)(*text - '0');
	}
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

haul_status peer_address_parse(const char *text, struct peer_address *ret_address, struct haul_fault *fault)
{
	struct peer_address a = { .port = HAUL_DEFAULT_PORT };
	const char *colon = strchr(text, ':'), *host = text, *after;
	size_t len;

	if (*text == '[') {
		a.is_v6 = true;
		host = text + 1;
		len = strcspn(host, "]");
		if (host[len] != ']')
			return refuse(text, fault);
		after = host + len + 1;
	} else {
		a.is_v6 = colon && strchr(colon + 1, ':');
		len = a.is_v6 || !colon ? strlen(host) : (size_t)(colon - host);
		after = host + len;
	}
	if (len > PEER_HOST_MAX)
		return refuse(text, fault);
	memcpy(a.host, host, len);
	if (*after) {
		a.has_port = true;
		a.port = *after == ':' ? port_of(after + 1) : 0;
	}
	if (!a.port || !is_host(a.host, a.is_v6))
		return refuse(text, fault);
	*ret_address = a;
	return HAUL_OK;
}

const char *peer_address_text(const struct peer_address *a, char ret_text[PEER_ADDRESS_TEXT_MAX])
{
	int n = snprintf(ret_text, PEER_ADDRESS_TEXT_MAX, a->is_v6 ? "[%s]" : "%s", a->host);

	if (a->has_port)
		snprintf(ret_text + n, PEER_ADDRESS_TEXT_MAX - (size_t)n, ":%u", a->port);
	return ret_text;
}
