/* The list in memory: kept ordered by name, small enough to be searched from front to back. */
#include "certs/pins.h"

#include "certs/rights.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 256 };

static bool is_word(const char *text, size_t max, const char *marks)
{
	size_t len = strlen(text);

	if (len == 0 || len > max)
		return false;
	for (; *text; text++) {
		if (!(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9') && !strchr(marks, *text))
			return false;
	}
	return true;
}

bool pin_is_name(const char *name)
{
	return is_word(name, PIN_NAME_MAX, "._-") && !strchr("._-", name[0]);
}

static bool is_address(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > PIN_ADDRESS_MAX)
		return false;
	for (; *text; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

static haul_status bad_word(const char *what, const char *word, const char *form, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	return haul_fault_set(fault, HAUL_BAD_VALUE, "\"%s\" cannot be %s (%s)",
			      haul_escape(word, strlen(word), shown, sizeof(shown)), what, form);
}

static haul_status check_name(const char *name, struct haul_fault *fault)
{
	return pin_is_name(name)
		   ? HAUL_OK
		   : bad_word("a device's name", name, "1 to 32 of a-z 0-9 . _ -, a letter or digit first", fault);
}

static void pin_free(struct pin *pin)
{
	for (size_t i = 0; i < pin->address_count; i++)
		free(pin->addresses[i]);
	free(pin->addresses);
	free(pin->rights);
}

void pins_close(struct pins *pins)
{
	for (size_t i = 0; i < pins->count; i++)
		pin_free(&pins->items[i]);
	free(pins->items);
	*pins = (struct pins){ .items = NULL };
}

const struct pin *pins_find_id(const struct pins *pins, const uint8_t id[DEVICE_ID_BYTES])
{
	for (size_t i = 0; i < pins->count; i++) {
		if (device_id_equal(pins->items[i].id, id))
			return &pins->items[i];
	}
	return NULL;
}

const struct pin *pins_find_name(const struct pins *pins, const char *name, size_t name_len)
{
	for (size_t i = 0; i < pins->count; i++) {
		if (strlen(pins->items[i].name) == name_len && memcmp(pins->items[i].name, name, name_len) == 0)
			return &pins->items[i];
	}
	return NULL;
}

/* The device to be changed; NULL with the fault set when there is none. */
static struct pin *find_known(struct pins *pins, const char *name, struct haul_fault *fault)
{
	const struct pin *found = pins_find_name(pins, name, strlen(name));
	char shown[SHOWN_MAX];

	if (found)
		return &pins->items[found - pins->items];
	(void)haul_fault_set(fault, HAUL_NOT_KNOWN, "no peer \"%s\"",
			     haul_escape(name, strlen(name), shown, sizeof(shown)));
	return NULL;
}

/* Make room for one more item of `size` bytes; NULL without memory, then nothing has changed. */
static void *grown(void *items, size_t count, size_t size)
{
	return reallocarray(items, count + 1, size);
}

/* Move the item at `from` to where its name belongs. */
static void put_in_order(struct pins *pins, size_t from)
{
	struct pin moved = pins->items[from];
	size_t to = 0;

	memmove(&pins->items[from], &pins->items[from + 1], (pins->count - from - 1) * sizeof(moved));
	while (to + 1 < pins->count && strcmp(pins->items[to].name, moved.name) < 0)
		to++;
	memmove(&pins->items[to + 1], &pins->items[to], (pins->count - to - 1) * sizeof(moved));
	pins->items[to] = moved;
}

/* HAUL_EXISTS with its reason when name or id are taken; *ret_is_there: by this very device. */
static haul_status check_free(const struct pins *pins, const uint8_t id[DEVICE_ID_BYTES], const char *name,
			      bool *ret_is_there, struct haul_fault *fault)
{
	const struct pin *of_name = pins_find_name(pins, name, strlen(name));
	const struct pin *of_id = pins_find_id(pins, id);

	*ret_is_there = of_id && of_id == of_name;
	if (*ret_is_there)
		return HAUL_OK;
	if (of_name)
		return haul_fault_set(
		    fault, HAUL_EXISTS,
		    "%s is another device already; choose another --name, or first: haul peer remove %s", name, name);
	if (of_id)
		return haul_fault_set(fault, HAUL_EXISTS, "this device is already known as %s", of_id->name);
	return HAUL_OK;
}

haul_status pins_add(struct pins *pins, const uint8_t id[DEVICE_ID_BYTES], const char *name, const char *method,
		     int64_t added_at, struct haul_fault *fault)
{
	struct pin added = { .added_at = added_at };
	struct pin *items;
	bool is_there;
	haul_status st = check_name(name, fault);

	if (haul_failed(st))
		return st;
	if (!is_word(method, PIN_METHOD_MAX, "-"))
		return bad_word("a way of pairing", method, "1 to 16 of a-z 0-9 -", fault);
	st = check_free(pins, id, name, &is_there, fault);
	if (haul_failed(st) || is_there)
		return st;
	if (pins->count == PINS_MAX)
		return haul_fault_set(fault, HAUL_OVERFLOW, "more than %d peers", (int)PINS_MAX);
	items = grown(pins->items, pins->count, sizeof(*items));
	if (!items)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "add %s", name);
	memcpy(added.id, id, DEVICE_ID_BYTES);
	memcpy(added.name, name, strlen(name) + 1);
	memcpy(added.method, method, strlen(method) + 1);
	pins->items = items;
	items[pins->count++] = added;
	put_in_order(pins, pins->count - 1);
	return HAUL_OK;
}

haul_status pins_remove(struct pins *pins, const char *name, struct haul_fault *fault)
{
	struct pin *pin = find_known(pins, name, fault);
	size_t after;

	if (!pin)
		return HAUL_NOT_KNOWN;
	pin_free(pin);
	after = pins->count - (size_t)(pin - pins->items) - 1;
	memmove(pin, pin + 1, after * sizeof(*pin));
	pins->count--;
	return HAUL_OK;
}

haul_status pins_rename(struct pins *pins, const char *name, const char *new_name, struct haul_fault *fault)
{
	struct pin *pin = find_known(pins, name, fault);
	haul_status st;

	if (!pin)
		return HAUL_NOT_KNOWN;
	st = check_name(new_name, fault);
	if (haul_failed(st) || strcmp(name, new_name) == 0)
		return st;
	if (pins_find_name(pins, new_name, strlen(new_name)))
		return haul_fault_set(fault, HAUL_EXISTS, "%s is another device already", new_name);
	memcpy(pin->name, new_name, strlen(new_name) + 1);
	put_in_order(pins, (size_t)(pin - pins->items));
	return HAUL_OK;
}

haul_status pins_add_address(struct pins *pins, const char *name, const char *address, struct haul_fault *fault)
{
	struct pin *pin = find_known(pins, name, fault);
	char **addresses;
	char *copy;

	if (!pin)
		return HAUL_NOT_KNOWN;
	if (!is_address(address))
		return bad_word("an address", address, "HOST, HOST:PORT or [V6]:PORT", fault);
	for (size_t i = 0; i < pin->address_count; i++) {
		if (strcmp(pin->addresses[i], address) == 0)
			return HAUL_OK;
	}
	if (pin->address_count == PIN_ADDRESSES_MAX)
		return haul_fault_set(fault, HAUL_OVERFLOW, "%s has %d addresses already", name,
				      (int)PIN_ADDRESSES_MAX);
	copy = strdup(address);
	addresses = copy ? grown(pin->addresses, pin->address_count, sizeof(*addresses)) : NULL;
	if (!addresses) {
		free(copy);
		return haul_fault_set(fault, HAUL_NO_MEMORY, "add an address of %s", name);
	}
	pin->addresses = addresses;
	addresses[pin->address_count++] = copy;
	return HAUL_OK;
}

static struct pin_right *find_right(const struct pin *pin, const char *share, size_t share_len)
{
	for (size_t i = 0; i < pin->right_count; i++) {
		struct pin_right *right = &pin->rights[i];

		if (strlen(right->share) == share_len && memcmp(right->share, share, share_len) == 0)
			return right;
	}
	return NULL;
}

uint64_t pin_rights_on(const struct pin *pin, const char *share, size_t share_len)
{
	const struct pin_right *right = find_right(pin, share, share_len);

	return right ? right->rights : 0;
}

static haul_status add_right(struct pin *pin, const char *share, uint64_t rights, struct haul_fault *fault)
{
	struct pin_right *list;

	if (pin->right_count == PIN_RIGHTS_MAX)
		return haul_fault_set(fault, HAUL_OVERFLOW, "%s has rights on %d shares already", pin->name,
				      (int)PIN_RIGHTS_MAX);
	list = grown(pin->rights, pin->right_count, sizeof(*list));
	if (!list)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "allow %s", pin->name);
	pin->rights = list;
	list += pin->right_count++;
	memcpy(list->share, share, strlen(share) + 1);
	list->rights = rights;
	list->quota = (struct quota_limit){ .bytes = 0 };
	return HAUL_OK;
}

haul_status pins_allow(struct pins *pins, const char *name, const char *share, uint64_t rights,
		       struct haul_fault *fault)
{
	struct pin *pin = find_known(pins, name, fault);
	struct pin_right *right;

	if (!pin)
		return HAUL_NOT_KNOWN;
	if (!is_word(share, PIN_SHARE_MAX, "._-"))
		return bad_word("a share's name", share, "1 to 64 of a-z 0-9 . _ -", fault);
	if (rights & ~RIGHTS_FULL)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "unknown rights %llx", (unsigned long long)rights);
	right = find_right(pin, share, strlen(share));
	if (!right)
		return rights ? add_right(pin, share, rights, fault) : HAUL_OK;
	right->rights = rights;
	if (!rights)
		*right = pin->rights[--pin->right_count];
	return HAUL_OK;
}

haul_status pins_quota(struct pins *pins, const char *name, const char *share, const struct quota_limit *quota,
		       struct haul_fault *fault)
{
	struct pin *pin = find_known(pins, name, fault);
	struct pin_right *right = pin ? find_right(pin, share, strlen(share)) : NULL;
	char shown[SHOWN_MAX];

	if (!pin)
		return HAUL_NOT_KNOWN;
	if (!right)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "%s has no rights on %s that a quota could limit", name,
				      haul_escape(share, strlen(share), shown, sizeof(shown)));
	if (quota->since_s < 0)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "a quota cannot count since before 1970");
	right->quota = quota->bytes ? *quota : (struct quota_limit){ .bytes = 0 };
	return HAUL_OK;
}
