/*
 * The known devices as the agent and the command line see them: a copy of certs' list, so that nobody above holds
 * pointers into it, and the changes that a user asks for, each one under the list's lock from reading to writing.
 * What the user may get wrong is checked before anything is changed.
 */
#include "agent/peers.h"

#include "agent/peer_address.h"
#include "agent/quota.h"
#include "agent/serve_ask.h"
#include "agent/shares.h"
#include "certs/pins.h"
#include "certs/rights.h"
#include "engine/base/escape.h"
#include "engine/base/record_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN_MAX = 128, KNOWN_MAX = 256 };

static haul_status copy_addresses(const struct pin *pin, struct peer *p)
{
	p->addresses = calloc(pin->address_count + 1, sizeof(*p->addresses));
	if (!p->addresses)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < pin->address_count; i++) {
		p->addresses[i] = strdup(pin->addresses[i]);
		if (!p->addresses[i])
			return HAUL_NO_MEMORY;
		p->address_count++;
	}
	return HAUL_OK;
}

static haul_status copy_rights(const struct pin *pin, struct peer *p)
{
	p->rights = calloc(pin->right_count + 1, sizeof(*p->rights));
	if (!p->rights)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < pin->right_count; i++) {
		p->rights[i] = (struct peer_right){ .share = strdup(pin->rights[i].share),
						    .rights = pin->rights[i].rights,
						    .quota = pin->rights[i].quota };
		if (!p->rights[i].share)
			return HAUL_NO_MEMORY;
		p->right_count++;
	}
	return HAUL_OK;
}

static haul_status copy_pin(const struct pin *pin, struct peer *p)
{
	haul_status st;

	p->name = strdup(pin->name);
	if (!p->name)
		return HAUL_NO_MEMORY;
	memcpy(p->device_id, pin->id, sizeof(p->device_id));
	device_id_text(pin->id, p->device_id_text);
	p->added_at = pin->added_at;
	st = copy_addresses(pin, p);
	return haul_ok(st) ? copy_rights(pin, p) : st;
}

static haul_status copy_pins(const struct pins *pins, struct peer_list *ret_list)
{
	struct peer_list list = { .peers = calloc(pins->count + 1, sizeof(*list.peers)) };
	haul_status st = list.peers ? HAUL_OK : HAUL_NO_MEMORY;

	while (haul_ok(st) && list.count < pins->count) {
		st = copy_pin(&pins->items[list.count], &list.peers[list.count]);
		list.count++;
	}
	if (haul_failed(st)) {
		peers_free(&list);
		return st;
	}
	*ret_list = list;
	return HAUL_OK;
}

haul_status peers_load(const struct home *h, struct peer_list *ret_list, struct haul_fault *fault)
{
	struct pins pins;
	int dir_fd;
	haul_status st = home_open_config(h, &dir_fd, fault);

	if (haul_failed(st))
		return st;
	st = pins_load(dir_fd, &pins, fault);
	close(dir_fd);
	if (haul_failed(st))
		return st;
	st = copy_pins(&pins, ret_list);
	pins_close(&pins);
	return haul_ok(st) ? st : haul_fault_set(fault, st, "out of memory");
}

static void peer_close(struct peer *p)
{
	for (size_t i = 0; i < p->address_count; i++)
		free(p->addresses[i]);
	for (size_t i = 0; i < p->right_count; i++)
		free(p->rights[i].share);
	free(p->addresses);
	free(p->rights);
	free(p->name);
}

void peers_free(struct peer_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		peer_close(&l->peers[i]);
	free(l->peers);
	*l = (struct peer_list){ .count = 0 };
}

const struct peer *peers_find(const struct peer_list *l, const char *name, size_t name_len)
{
	for (size_t i = 0; i < l->count; i++)
		if (strlen(l->peers[i].name) == name_len && !memcmp(l->peers[i].name, name, name_len))
			return &l->peers[i];
	return NULL;
}

const struct peer *peers_find_id(const struct peer_list *l, const uint8_t device_id[32])
{
	for (size_t i = 0; i < l->count; i++)
		if (device_id_equal(l->peers[i].device_id, device_id))
			return &l->peers[i];
	return NULL;
}

static const struct peer_right *right_on(const struct peer *p, const char *share, size_t share_len)
{
	for (size_t i = 0; i < p->right_count; i++)
		if (strlen(p->rights[i].share) == share_len && !memcmp(p->rights[i].share, share, share_len))
			return &p->rights[i];
	return NULL;
}

uint64_t peer_rights_on(const struct peer *p, const char *share, size_t share_len)
{
	const struct peer_right *right = right_on(p, share, share_len);

	return right ? right->rights : 0;
}

struct quota_limit peer_quota_on(const struct peer *p, const char *share, size_t share_len)
{
	const struct peer_right *right = right_on(p, share, share_len);

	return right ? right->quota : (struct quota_limit){ .bytes = 0 };
}

haul_status peer_quota_used(const struct home *h, const struct peer *p, const struct peer_right *right,
			    uint64_t *ret_bytes)
{
	struct share_list shares;
	const struct share *share;
	haul_status st = shares_load(h, &shares, NULL);
	int fd = -1;

	if (haul_failed(st))
		return st;
	share = shares_find(&shares, right->share, strlen(right->share));
	st = share ? share_open(share, false, &fd, NULL) : HAUL_NO_SHARE;
	if (haul_ok(st))
		st = quota_used(h->state_dir, p->device_id, right->share, &right->quota, fd, ret_bytes);
	if (fd >= 0)
		(void)close(fd);
	shares_free(&shares);
	return st;
}

const char *peer_rights_text(uint64_t rights, char *ret_text, size_t cap)
{
	char text[RIGHTS_TEXT_MAX];

	snprintf(ret_text, cap, "%s", rights_text(rights, text));
	return ret_text;
}

haul_status peer_rights_parse(const char *text, uint64_t *ret_rights, struct haul_fault *fault)
{
	return rights_parse(text, ret_rights, fault);
}

/* The list, locked against other processes until change_end(). */
struct change {
	int dir_fd, lock_fd;
	struct pins pins;
};

static haul_status change_begin(struct change *c, const struct home *h, struct haul_fault *fault)
{
	haul_status st = home_open_config(h, &c->dir_fd, fault);

	if (haul_failed(st))
		return st;
	st = pins_lock(c->dir_fd, &c->lock_fd, fault);
	if (haul_failed(st))
		goto close_dir;
	st = pins_load(c->dir_fd, &c->pins, fault);
	if (haul_failed(st))
		goto unlock;
	return HAUL_OK;

unlock:
	record_unlock(c->lock_fd);
close_dir:
	close(c->dir_fd);
	return st;
}

/* Written only if all went well up to here. */
static haul_status change_end(struct change *c, haul_status st, struct haul_fault *fault)
{
	if (haul_ok(st))
		st = pins_save(&c->pins, c->dir_fd, fault);
	pins_close(&c->pins);
	record_unlock(c->lock_fd);
	close(c->dir_fd);
	return st;
}

/* `no peer "nass" (known: nas)` */
static haul_status require_name(const struct pins *pins, const char *name, struct haul_fault *fault)
{
	char known[KNOWN_MAX] = "", shown[SHOWN_MAX];
	size_t used = 0;

	if (pins_find_name(pins, name, strlen(name)))
		return HAUL_OK;
	for (size_t i = 0; i < pins->count && used + PIN_NAME_MAX + 8 < sizeof(known); i++)
		used +=
		    (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", pins->items[i].name);
	haul_escape(name, strlen(name), shown, sizeof(shown));
	return haul_fault_set(fault, HAUL_NOT_KNOWN, "no peer \"%s\" (known: %s)", shown, used ? known : "none");
}

static haul_status require_shares(const struct home *h, const struct peer_allow *allow, size_t count,
				  const char *who_grants, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];
	struct share_list shares;
	haul_status st = count ? shares_load(h, &shares, fault) : HAUL_OK;

	if (!count || haul_failed(st))
		return st;
	for (size_t i = 0; i < count && haul_ok(st); i++) {
		const char *name = allow[i].share;

		if (!shares_find(&shares, name, strlen(name)))
			st = haul_fault_set(fault, HAUL_NO_SHARE,
					    "%s rights on shares of THIS machine, which has no share \"%s\"",
					    who_grants, haul_escape(name, strlen(name), shown, sizeof(shown)));
	}
	shares_free(&shares);
	return st;
}

static haul_status require_other_device(const struct home *h, const uint8_t *id, struct haul_fault *fault)
{
	struct home_identity own;
	haul_status st = home_identity(h, &own, fault);

	if (haul_failed(st))
		return st;
	if (device_id_equal(own.device_id, id))
		return haul_fault_set(fault, HAUL_BAD_VALUE,
				      "this is this machine's own device id: run haul id on the other machine");
	return HAUL_OK;
}

static haul_status add_address(struct pins *pins, const char *name, const char *text, struct haul_fault *fault)
{
	char kept[PEER_ADDRESS_TEXT_MAX];
	struct peer_address address;
	haul_status st = peer_address_parse(text, &address, fault);

	return haul_ok(st) ? pins_add_address(pins, name, peer_address_text(&address, kept), fault) : st;
}

static haul_status allow_one(struct pins *pins, const char *name, const struct peer_allow *allow,
			     struct haul_fault *fault)
{
	haul_status st = pins_allow(pins, name, allow->share, allow->rights, fault);

	return haul_ok(st) && allow->has_quota && allow->rights
		   ? pins_quota(pins, name, allow->share, &allow->quota, fault)
		   : st;
}

haul_status peers_add(const struct home *h, const char *device_id_text, const char *name, const char *const *addresses,
		      size_t address_count, const struct peer_allow *allow, size_t allow_count,
		      struct haul_fault *fault)
{
	uint8_t id[DEVICE_ID_BYTES];
	struct change c;
	haul_status st = device_id_parse(device_id_text, id, fault);

	if (haul_ok(st))
		st = require_other_device(h, id, fault);
	if (haul_ok(st))
		st = require_shares(h, allow, allow_count, "--allow grants", fault);
	if (haul_ok(st))
		st = change_begin(&c, h, fault);
	if (haul_failed(st))
		return st;
	st = pins_add(&c.pins, id, name, "typed", (int64_t)time(NULL), fault);
	for (size_t i = 0; i < address_count && haul_ok(st); i++)
		st = add_address(&c.pins, name, addresses[i], fault);
	for (size_t i = 0; i < allow_count && haul_ok(st); i++)
		st = allow_one(&c.pins, name, &allow[i], fault);
	return change_end(&c, st, fault);
}

haul_status peers_remove(const struct home *h, const char *name, struct haul_fault *fault)
{
	struct change c;
	haul_status st = change_begin(&c, h, fault);

	if (haul_failed(st))
		return st;
	st = require_name(&c.pins, name, fault);
	if (haul_ok(st))
		st = pins_remove(&c.pins, name, fault);
	return change_end(&c, st, fault);
}

haul_status peers_allow(const struct home *h, const char *name, const struct peer_allow *allow,
			struct haul_fault *fault)
{
	struct change c;
	haul_status st = change_begin(&c, h, fault);

	if (haul_failed(st))
		return st;
	st = require_name(&c.pins, name, fault);
	/* Rights on a share that is gone may still be taken away. */
	if (haul_ok(st))
		st = require_shares(h, allow, allow->rights ? 1 : 0, "haul peer allow grants", fault);
	if (haul_ok(st))
		st = allow_one(&c.pins, name, allow, fault);
	return change_end(&c, st, fault);
}
