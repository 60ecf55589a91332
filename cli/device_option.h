/* --device=[END:]KIND[,END:KIND]: what the user knows of the disks. */
#ifndef HAUL_CLI_DEVICE_OPTION_H
#define HAUL_CLI_DEVICE_OPTION_H

#include "engine/base/device_kind.h"
#include "engine/base/status.h"

/* What DEVICE_OPTION_WANTED says to one who got it wrong. */
#define DEVICE_OPTION_WANTED "it takes rotational, ssd, nvme, network or memory, or source:KIND,destination:KIND"

/*
 * KIND alone speaks of both ends; `auto` leaves an end to be found out. HAUL_USAGE: it is none of these; then nothing
 * is set.
 */
HAUL_MUST_USE haul_status device_option_parse(const char *value, enum device_kind *ret_source,
					      enum device_kind *ret_destination);

#endif
