/*
 * The devices that this agent knows, by id, and what each may do: the file "peers" of a home.
 *
 * A list is loaded, changed in memory and saved as a whole. What cannot be read entirely gives no list at all. To
 * change the file: pins_lock(), pins_load(), changes, pins_save(), record_unlock() (engine/base/record_file.h).
 */
#ifndef HAUL_CERTS_PINS_H
#define HAUL_CERTS_PINS_H

#include "certs/device_id.h"
#include "engine/base/fault.h"
#include "engine/base/quota_limit.h"

#include <stddef.h>
#include <stdint.h>

enum {
	PIN_NAME_MAX = 32,      /* [a-z0-9._-], beginning with a letter or digit */
	PIN_SHARE_MAX = 64,     /* bytes of a share's name */
	PIN_ADDRESS_MAX = 300,  /* bytes of one address */
	PIN_METHOD_MAX = 16,    /* [a-z0-9-]: how the device became known, "typed" */
	PINS_MAX = 4096,        /* devices */
	PIN_ADDRESSES_MAX = 16, /* per device */
	PIN_RIGHTS_MAX = 1024,  /* shares per device */
};

struct pin_right {
	char share[PIN_SHARE_MAX + 1];
	uint64_t rights; /* certs/rights.h; never 0 */
	struct quota_limit quota;
};

struct pin {
	uint8_t id[DEVICE_ID_BYTES];
	char name[PIN_NAME_MAX + 1];
	char method[PIN_METHOD_MAX + 1];
	int64_t added_at; /* seconds since 1970 */
	char **addresses; /* HOST, HOST:PORT or [V6]:PORT, in the order to try; owned by the list */
	size_t address_count;
	struct pin_right *rights; /* owned by the list */
	size_t right_count;
};

/* One thread at a time may change it; any number may look while nobody does. */
struct pins {
	struct pin *items; /* ordered by name */
	size_t count;
};

/*
 * Read the list of the directory `dir_fd` (borrowed). A missing file is an empty list.
 *
 * ret_pins  given: pins_close().
 * HAUL_UNREADABLE_PINS   damaged, or writable by others, or not understood: nobody is known then.
 */
HAUL_MUST_USE haul_status pins_load(int dir_fd, struct pins *ret_pins, struct haul_fault *fault);
void pins_close(struct pins *pins);

/* Write the list durably, as a whole. */
HAUL_MUST_USE haul_status pins_save(const struct pins *pins, int dir_fd, struct haul_fault *fault);

/* Keep other processes from changing the list meanwhile; ret_lock_fd is given: record_unlock(). */
HAUL_MUST_USE haul_status pins_lock(int dir_fd, int *ret_lock_fd, struct haul_fault *fault);

/* The device of that id or name, NULL when there is none. Borrowed until the list changes. */
const struct pin *pins_find_id(const struct pins *pins, const uint8_t id[DEVICE_ID_BYTES]);
const struct pin *pins_find_name(const struct pins *pins, const char *name, size_t name_len);

/*
 * Add a device without addresses and rights.
 *
 * HAUL_EXISTS     the name belongs to another device, or the device is there under another name; told in the fault.
 *                 The same device under the same name is HAUL_OK and changes nothing.
 * HAUL_BAD_VALUE  name or method are not of the form above.
 * HAUL_OVERFLOW   PINS_MAX.
 */
HAUL_MUST_USE haul_status pins_add(struct pins *pins, const uint8_t id[DEVICE_ID_BYTES], const char *name,
				   const char *method, int64_t added_at, struct haul_fault *fault);

/* HAUL_NOT_KNOWN: no device of that name. HAUL_EXISTS: the new name is taken. */
HAUL_MUST_USE haul_status pins_remove(struct pins *pins, const char *name, struct haul_fault *fault);
HAUL_MUST_USE haul_status pins_rename(struct pins *pins, const char *name, const char *new_name,
				      struct haul_fault *fault);

/* Append an address; one that is there already stays where it is. HAUL_NOT_KNOWN, HAUL_BAD_VALUE, HAUL_OVERFLOW. */
HAUL_MUST_USE haul_status pins_add_address(struct pins *pins, const char *name, const char *address,
					   struct haul_fault *fault);

/* Set the rights of a device on a share; 0 takes them and the quota away. HAUL_NOT_KNOWN, HAUL_BAD_VALUE,
 * HAUL_OVERFLOW. */
HAUL_MUST_USE haul_status pins_allow(struct pins *pins, const char *name, const char *share, uint64_t rights,
				     struct haul_fault *fault);

/*
 * Limit what a device may put into a share on which it has rights; bytes 0: no limit any more.
 *
 * HAUL_NOT_KNOWN   no such device. HAUL_BAD_VALUE: it has no rights there, or the times are impossible.
 */
HAUL_MUST_USE haul_status pins_quota(struct pins *pins, const char *name, const char *share,
				     const struct quota_limit *quota, struct haul_fault *fault);

/* The rights of a device on a share; 0 when it has none there. */
uint64_t pin_rights_on(const struct pin *pin, const char *share, size_t share_len);

/* Whether text is a name as a device may have it here. */
bool pin_is_name(const char *name);

#endif
