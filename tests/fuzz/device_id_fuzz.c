/* What people type: a device id or a set of rights. Whatever is accepted prints and reads back as the same. */
#include "certs/device_id.h"
#include "certs/rights.h"

#include <assert.h>
#include <string.h>

enum { TYPED_MAX = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_device_id(const char *typed)
{
	uint8_t id[DEVICE_ID_BYTES];
	uint8_t again[DEVICE_ID_BYTES];
	char text[DEVICE_ID_TEXT_MAX];
	struct haul_fault fault;

	if (haul_failed(device_id_parse(typed, id, &fault)))
		return;
	assert(haul_ok(device_id_parse(device_id_text(id, text), again, &fault)));
	assert(device_id_equal(id, again));
}

static void try_rights(const char *typed)
{
	uint64_t rights;
	uint64_t again;
	char text[RIGHTS_TEXT_MAX];
	struct haul_fault fault;

	if (haul_failed(rights_parse(typed, &rights, &fault)))
		return;
	assert(haul_ok(rights_parse(rights_text(rights, text), &again, &fault)));
	assert(rights == again && !(rights & ~RIGHTS_FULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char typed[TYPED_MAX + 1] = "";

	memcpy(typed, data, size < TYPED_MAX ? size : TYPED_MAX);
	try_device_id(typed);
	try_rights(typed);
	return 0;
}
