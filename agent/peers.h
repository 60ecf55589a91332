/*
 * Devices this agent knows, by local name, and what each may do on which share of this machine.
 */
#ifndef HAUL_AGENT_PEERS_H
#define HAUL_AGENT_PEERS_H

#include "agent/home.h"
#include "engine/base/quota_limit.h"

struct peer_right {
	char *share;
	uint64_t rights; /* bits as certs/rights.h; peer_rights_text() prints them */
	struct quota_limit quota;
};

struct peer {
	char *name;
	uint8_t device_id[32];
	char device_id_text[80];
	char **addresses; /* HOST or HOST:PORT or [V6]:PORT, in the order to try */
	size_t address_count;
	struct peer_right *rights;
	size_t right_count;
	int64_t added_at; /* seconds since 1970 */
};

struct peer_list {
	struct peer *peers; /* by name */
	size_t count;
};

HAUL_MUST_USE haul_status peers_load(const struct home *h, struct peer_list *ret_list, struct haul_fault *fault);
void peers_free(struct peer_list *l);
const struct peer *peers_find(const struct peer_list *l, const char *name, size_t name_len);
const struct peer *peers_find_id(const struct peer_list *l, const uint8_t device_id[32]);

/* The rights of a peer on a share of this machine; 0 when it has none there. */
uint64_t peer_rights_on(const struct peer *p, const char *share, size_t share_len);

/* What limits it there; bytes 0: nothing does. */
struct quota_limit peer_quota_on(const struct peer *p, const char *share, size_t share_len);

/*
 * How much of its quota there a peer has used; jobs that run now may have more. right: one of p's. Blocking.
 *
 * HAUL_NO_SHARE   this machine has no such share. Else as looking at the share and reading a file of the home.
 */
HAUL_MUST_USE haul_status peer_quota_used(const struct home *h, const struct peer *p, const struct peer_right *right,
					  uint64_t *ret_bytes);

/* "reader", "list,read" …; "none" for 0. Returns ret_text. */
const char *peer_rights_text(uint64_t rights, char *ret_text, size_t cap);
/* HAUL_BAD_VALUE names the word that is not a right and those that are. */
HAUL_MUST_USE haul_status peer_rights_parse(const char *text, uint64_t *ret_rights, struct haul_fault *fault);

/* SHARE=RIGHTS, and the limit of what may be put there. */
struct peer_allow {
	const char *share;
	uint64_t rights;
	bool has_quota; /* false: the one it has stays as it is */
	struct quota_limit quota;
};

/*
 * Add a device, or add addresses and rights to the one of that name and id (the same command twice is fine).
 * HAUL_EXISTS: the name belongs to another device, or the device has another name; HAUL_NO_SHARE: no such share of this
 * machine; HAUL_BAD_VALUE: id or name malformed, own id, address malformed. The fault is the line for the user.
 */
HAUL_MUST_USE haul_status peers_add(const struct home *h, const char *device_id_text, const char *name,
				    const char *const *addresses, size_t address_count, const struct peer_allow *allow,
				    size_t allow_count, struct haul_fault *fault);
HAUL_MUST_USE haul_status peers_remove(const struct home *h, const char *name, struct haul_fault *fault);
/* Set (replace) the rights of a peer on one share, and its quota if there is one; rights 0 takes both away.
 * HAUL_NOT_KNOWN, HAUL_NO_SHARE. */
HAUL_MUST_USE haul_status peers_allow(const struct home *h, const char *name, const struct peer_allow *allow,
				      struct haul_fault *fault);

#endif
