/* The reserve is never given back: it is for the rare moment, and a process in which it recurs is at its end anyway. */
#include "agent/loop_open.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVE_BYTES = 64 * 1024, ALIGN = 16 };

static _Alignas(ALIGN) unsigned char reserve[RESERVE_BYTES];
static _Atomic size_t reserve_used;

static bool is_reserve(const void *p)
{
	uintptr_t at = (uintptr_t)p, from = (uintptr_t)reserve;

	return at >= from && at < from + RESERVE_BYTES;
}

static void *from_reserve(size_t size)
{
	size_t bytes = (size + ALIGN - 1) / ALIGN * ALIGN, at;

	if (size > RESERVE_BYTES)
		return NULL;
	at = atomic_fetch_add(&reserve_used, bytes);
	return at <= RESERVE_BYTES - bytes ? reserve + at : NULL;
}

/* What is there may be longer than what was asked for; of the reserve's own, all that follows is. */
static size_t usable(void *p)
{
	return is_reserve(p) ? (size_t)(reserve + RESERVE_BYTES - (unsigned char *)p) : malloc_usable_size(p);
}

static void *resize(void *old, size_t size)
{
	void *new = is_reserve(old) ? malloc(size) : realloc(old, size);
	size_t keep;

	if (new && !is_reserve(old))
		return new;
	if (!new)
		new = from_reserve(size);
	if (!new || !old)
		return new;
	keep = usable(old);
	memcpy(new, old, keep < size ? keep : size);
	if (!is_reserve(old))
		free(old);
	return new;
}

static void let_go(void *p)
{
	if (!is_reserve(p))
		free(p);
}

static void set_reserve_aside(void)
{
	(void)uv_replace_allocator(malloc, resize, calloc, let_go);
}

int loop_open(uv_loop_t *loop)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, set_reserve_aside);
	return uv_loop_init(loop);
}
