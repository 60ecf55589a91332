#include "engine/base/crc32.h"

enum { POLYNOMIAL_TABLE = 16 };

/* The reflected polynomial EDB88320 over four bits at a time: small enough to check by eye. */
static const uint32_t steps[POLYNOMIAL_TABLE] = {
	0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
	0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
};

uint32_t haul_crc32(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint32_t crc = 0xFFFFFFFF;

	for (size_t i = 0; i < len; i++) {
		crc = steps[(crc ^ at[i]) & 15] ^ crc >> 4;
		crc = steps[(crc ^ at[i] >> 4) & 15] ^ crc >> 4;
	}
	return ~crc;
}
