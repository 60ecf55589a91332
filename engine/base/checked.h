/* Arithmetic on sizes that a peer or a file may have chosen: it says so when it overflows. */
#ifndef HAUL_BASE_CHECKED_H
#define HAUL_BASE_CHECKED_H

#include "engine/base/status.h"

#include <stdint.h>

/* *ret_sum = a + b; HAUL_OVERFLOW leaves it untouched. */
HAUL_MUST_USE static inline haul_status haul_add_u64(uint64_t a, uint64_t b, uint64_t *ret_sum)
{
	uint64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return HAUL_OVERFLOW;
	*ret_sum = sum;
	return HAUL_OK;
}

/* *ret_product = a * b; HAUL_OVERFLOW leaves it untouched. */
HAUL_MUST_USE static inline haul_status haul_mul_u64(uint64_t a, uint64_t b, uint64_t *ret_product)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return HAUL_OVERFLOW;
	*ret_product = product;
	return HAUL_OK;
}

/* The smallest multiple of `step` (a power of two) that is at least `value`. The caller knows that it fits. */
static inline uint64_t haul_round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) & ~(step - 1);
}

#endif
