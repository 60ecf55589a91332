/*
 * Places and addresses as typed. A place that is taken keeps its promises: a local one has a path without "//", a
 * remote one a share and components that the protocol allows; an address that is taken reads the same again.
 */
#include "agent/peer_address.h"
#include "agent/place_spec.h"
#include "engine/base/entry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_remote(const struct place_spec *p)
{
	const char *at = p->path;

	assert(!p->peer != !p->host);
	assert(p->share || !*p->path);
	assert(!p->share || (*p->share && strlen(p->share) <= 64 && !strchr(p->share, '/')));
	while (*at) {
		size_t n = strcspn(at, "/");

		assert(haul_ok(haul_component_check(at, n)));
		at += n;
		assert(*at != '/' || at[1]);
		at += *at == '/';
	}
}

static void check_place(const char *text)
{
	struct haul_fault fault = { .text = "" };
	struct place_spec p;

	if (haul_failed(place_spec_parse(text, &p, &fault))) {
		assert(fault.status.code == HAUL_CODE_USAGE && *fault.text);
		return;
	}
	assert(!strcmp(p.text, text));
	if (p.is_remote)
		check_remote(&p);
	else
		assert(*p.path && !strstr(p.path, "//") && !p.share && !p.peer && !p.host);
	place_spec_close(&p);
}

static void check_address(const char *text)
{
	char kept[PEER_ADDRESS_TEXT_MAX], again[PEER_ADDRESS_TEXT_MAX];
	struct peer_address a, b;

	if (haul_failed(peer_address_parse(text, &a, NULL)))
		return;
	assert(a.port && *a.host);
	peer_address_text(&a, kept);
	assert(haul_ok(peer_address_parse(kept, &b, NULL)));
	assert(!strcmp(a.host, b.host) && a.port == b.port && a.is_v6 == b.is_v6);
	assert(!strcmp(kept, peer_address_text(&b, again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	assert(text);
	if (len)
		memcpy(text, data, len);
	text[len] = '\0';
	check_place(text);
	check_address(text);
	free(text);
	return 0;
}
