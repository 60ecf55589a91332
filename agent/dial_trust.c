/* Loaded once per command; a client does not follow changes of its peers while it runs. */
#include "agent/dial_trust.h"

#include "certs/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_known(void *ctx, const uint8_t id[DEVICE_ID_BYTES])
{
	const struct dial_trust *t = ctx;

	return peers_find_id(&t->peers, id) != NULL;
}

static haul_status load_identity(struct dial_trust *t, const struct home *home, struct haul_fault *fault)
{
	int fd = open(home->config_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	haul_status st;

	if (fd < 0)
		return haul_fault_errno(fault, errno, "open the home %s", home->config_dir);
	st = identity_open(fd, &t->identity, fault);
	(void)close(fd);
	return st;
}

haul_status dial_trust_new(const struct home *home, struct dial_trust **ret_trust, struct haul_fault *fault)
{
	struct dial_trust *t = calloc(1, sizeof(*t));
	haul_status st;

	if (!t)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	st = load_identity(t, home, fault);
	if (haul_ok(st))
		st = peers_load(home, &t->peers, fault);
	if (haul_ok(st)) {
		struct tls_config_options options = { .identity = t->identity, .is_known = is_known, .ctx = t };

		st = tls_config_new(&options, &t->tls, fault);
	}
	if (haul_failed(st)) {
		dial_trust_free(t);
		return st;
	}
	*ret_trust = t;
	return HAUL_OK;
}

void dial_trust_free(struct dial_trust *t)
{
	if (!t)
		return;
	tls_config_free(t->tls);
	peers_free(&t->peers);
	identity_free(t->identity);
	free(t);
}
