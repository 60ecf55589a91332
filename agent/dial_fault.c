/* Text only; every name that others chose is escaped. */
#include "agent/dial_fault.h"

#include "engine/base/escape.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 200 };

static const char *shown(const char *text, char ret_text[SHOWN_MAX])
{
	return haul_escape(text, strlen(text), ret_text, SHOWN_MAX);
}

static void known_names(const struct peer_list *known, char *ret_text, size_t cap)
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < known->count && used + 1 < cap; i++) {
		int n = snprintf(ret_text + used, cap - used, "%s%s", i ? ", " : "", known->peers[i].name);

		used += n > 0 ? (size_t)n : 0;
	}
}

void dial_fault_no_peer(struct dial_fault *f, const char *name, const struct peer_list *known)
{
	char text[SHOWN_MAX], names[256];

	f->remedy[0] = '\0';
	known_names(known, names, sizeof(names));
	if (known->count) {
		(void)haul_fault_set(&f->fault, HAUL_NOT_KNOWN, "no peer \"%s\" (known: %s)", shown(name, text), names);
		return;
	}
	(void)haul_fault_set(&f->fault, HAUL_NOT_KNOWN, "no peer \"%s\" (none is known yet)", shown(name, text));
	(void)snprintf(f->remedy, sizeof(f->remedy), "Run haul id on that machine; it prints the line to paste here");
}

void dial_fault_no_address(struct dial_fault *f, const struct peer *peer)
{
	(void)haul_fault_set(&f->fault, HAUL_NO_ROUTE, "no address of %s is known", peer->name);
	(void)snprintf(f->remedy, sizeof(f->remedy), "Run: haul peer add %s --name %s --address HOST",
		       peer->device_id_text, peer->name);
}

void dial_fault_unknown_here(struct dial_fault *f, const char *peer_name, const struct home *home, const char *share)
{
	struct home_identity own;
	char machine[64];

	f->remedy[0] = '\0';
	(void)haul_fault_set(&f->fault, HAUL_NOT_KNOWN, "%s does not know this device", peer_name);
	if (haul_failed(home_identity(home, &own, NULL)))
		return;
	home_machine_name(machine, sizeof(machine));
	(void)snprintf(f->remedy, sizeof(f->remedy), "On %s run: haul peer add %s --name %s%s%s%s", peer_name,
		       own.device_id_text, machine, share ? " --allow " : "", share ? share : "",
		       share ? "=writer" : "");
}

void dial_fault_other_device(struct dial_fault *f, const char *host, const char *peer_name)
{
	char text[SHOWN_MAX];

	f->remedy[0] = '\0';
	if (peer_name) {
		(void)haul_fault_set(&f->fault, HAUL_WRONG_DEVICE,
				     "%s answers as another device than %s; nothing was sent", shown(host, text),
				     peer_name);
		(void)snprintf(
		    f->remedy, sizeof(f->remedy),
		    "Compare haul id on %s with haul peer show %s here: hauld may run there for another user",
		    peer_name, peer_name);
		return;
	}
	(void)haul_fault_set(&f->fault, HAUL_NOT_KNOWN, "the device at %s is no peer of this one; nothing was sent",
			     shown(host, text));
	(void)snprintf(f->remedy, sizeof(f->remedy), "Run haul id there; it prints the line to paste here");
}

void dial_fault_no_answer(struct dial_fault *f, uint32_t timeout_ms, unsigned port)
{
	f->remedy[0] = '\0';
	(void)haul_fault_set(&f->fault, HAUL_TIMED_OUT,
			     "no answer in %g s: machine off, other address, or a firewall drops TCP %u",
			     timeout_ms / 1000.0, port);
}

void dial_fault_unresolved(struct dial_fault *f, const char *host, const char *why)
{
	char text[SHOWN_MAX];

	f->remedy[0] = '\0';
	(void)haul_fault_set(&f->fault, HAUL_NO_ROUTE, "the address of %s cannot be found: %s", shown(host, text), why);
}

static int rank(haul_status st)
{
	switch (st.code) {
	case HAUL_CODE_OK:
		return -1;
	case HAUL_CODE_NO_ROUTE:
		return 0;
	case HAUL_CODE_TIMED_OUT:
		return 1;
	case HAUL_CODE_LOST:
		return 2;
	case HAUL_CODE_REFUSED:
		return 3;
	case HAUL_CODE_WRONG_DEVICE:
		return 5;
	case HAUL_CODE_NOT_KNOWN:
		return 6;
	default:
		return 4;
	}
}

void dial_fault_keep_better(struct dial_fault *best, const struct dial_fault *other)
{
	if (rank(other->fault.status) > rank(best->fault.status))
		*best = *other;
}
