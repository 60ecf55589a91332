#include "cli/paste.h"

#include "agent/own_address.h"

#include <stdio.h>
#include <string.h>

enum { ADDRESSES_MAX = 3 };

const char *paste_line(const struct home *h, const struct home_identity *id, char *ret_text)
{
	char addresses[ADDRESSES_MAX][OWN_ADDRESS_MAX];
	char name[64], listening[512] = "";
	size_t count, used;
	int pid;

	home_machine_name(name, sizeof(name));
	if (!home_agent_runs(h, listening, sizeof(listening), &pid))
		listening[0] = '\0';
	count = own_addresses(listening, addresses, ADDRESSES_MAX);
	used = (size_t)snprintf(ret_text, PASTE_TEXT_MAX, "haul peer add %s --name %s", id->device_id_text, name);
	for (size_t i = 0; i < count && used < PASTE_TEXT_MAX; i++)
		used += (size_t)snprintf(ret_text + used, PASTE_TEXT_MAX - used, " --address %s", addresses[i]);
	return ret_text;
}
