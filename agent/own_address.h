/*
 * Under which addresses the machines around may reach this one: for the line that a person pastes over there.
 */
#ifndef HAUL_AGENT_OWN_ADDRESS_H
#define HAUL_AGENT_OWN_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

enum { OWN_ADDRESS_MAX = 64 }; /* "[fd00:...]:42850" with its NUL */

/*
 * At most `cap` addresses as HOST:PORT, the likeliest first: where `listening` (the running agent's addresses,
 * separated by spaces; "" when none runs) says a certain address, that one; where it says every address, or nothing,
 * those of the machine's interfaces that are up, IPv4 first, without those that only virtual machines and containers
 * see. Loopback only when there is nothing else. Returns how many: never 0 when cap is not 0.
 */
size_t own_addresses(const char *listening, char (*ret_addresses)[OWN_ADDRESS_MAX], size_t cap);

#endif
