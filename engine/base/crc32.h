/* CRC-32 (IEEE 802.3, as in zip and gzip), for small files of our own: it finds damage, not attackers. */
#ifndef HAUL_BASE_CRC32_H
#define HAUL_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `len` bytes. */
uint32_t haul_crc32(const void *data, size_t len);

#endif
