/* The line to run on the other machine so that it knows this one. */
#ifndef HAUL_CLI_PASTE_H
#define HAUL_CLI_PASTE_H

#include "agent/home.h"

enum { PASTE_TEXT_MAX = 1024 };

/*
 * "haul peer add 7H2K-... --name edit1 --address 192.168.1.5:42850". The address is where this home's agent listens,
 * or would. Returns ret_text, of PASTE_TEXT_MAX bytes.
 */
const char *paste_line(const struct home *h, const struct home_identity *id, char *ret_text);

#endif
