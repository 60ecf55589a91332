/* A peer's ERROR, cut from the input: whatever it says, the line is printable, bounded and never empty. */
#include "agent/peer_error.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A text of up to 255 bytes: its length, then itself. */
static struct text take(const uint8_t **data, size_t *len)
{
	struct text t = { (const char *)*data + 1, 0 };

	if (!*len)
		return (struct text){ NULL, 0 };
	t.len = **data < *len ? **data : *len - 1;
	*data += t.len + 1;
	*len -= t.len + 1;
	return t;
}

static void check_printable(const char *text, size_t cap)
{
	assert(memchr(text, '\0', cap));
	for (; *text; text++)
		assert((unsigned char)*text >= ' ' && *text != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct text offered[4];
	struct msg_error e = { .offered = offered };
	struct peer_error p;

	if (len < 5)
		return 0;
	e.code = (uint32_t)data[0] << 8 | data[1];
	e.missing_right = UINT64_C(1) << (data[2] & 63);
	e.held_rights = data[3];
	e.need_bytes = (uint64_t)data[4] << (data[2] & 56);
	e.free_bytes = (uint64_t)data[3] << (data[2] & 48);
	data += 5;
	len -= 5;
	e.text = take(&data, &len);
	e.share = take(&data, &len);
	e.path = take(&data, &len);
	e.your_name = take(&data, &len);
	while (len && e.offered_count < 4)
		offered[e.offered_count++] = take(&data, &len);
	peer_error_explain(&e, "nas", &p);
	assert(haul_failed(p.status) && p.exit_code && *p.text);
	check_printable(p.text, sizeof(p.text));
	check_printable(p.remedy, sizeof(p.remedy));
	return 0;
}
