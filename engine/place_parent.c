/*
 * Parents, cached per thread without a lock: a thread is known by the address of a variable of its own. When a thread
 * has ended, a new one may get its address, and with it a cache that nobody else uses any more.
 */
#include "engine/place.h"

#include <unistd.h>

static struct place_cache *cache_of_this_thread(struct place *p)
{
	static _Thread_local char self;

	for (unsigned i = 0; i < PLACE_CACHES; i++) {
		const char *owner = atomic_load(&p->caches[i].owner);

		if (!owner && atomic_compare_exchange_strong(&p->caches[i].owner, &owner, &self))
			owner = &self;
		if (owner == &self)
			return &p->caches[i];
	}
	return NULL;
}

haul_status place_parent_get(struct place *p, const char *path, struct place_parent *ret_parent)
{
	struct place_cache *cache = cache_of_this_thread(p);
	struct place_parent at = { .is_own = !cache, .cache = cache };
	haul_status st = cache ? parent_cache_get(&cache->parents, p->root_fd, path, &at.dir_fd, &at.name)
			       : beneath_parent(p->root_fd, path, &at.dir_fd, &at.name);

	if (haul_ok(st))
		*ret_parent = at;
	return st;
}

void place_parent_traits(const struct place_parent *at, struct dir_traits *ret_traits)
{
	struct place_cache *c = at->cache;

	if (!c) {
		dir_traits_of(at->dir_fd, ret_traits);
		return;
	}
	if (c->traits_of != c->parents.opened)
		dir_traits_of(at->dir_fd, &c->traits);
	c->traits_of = c->parents.opened;
	*ret_traits = c->traits;
}

bool place_parent_is_elsewhere(const struct place *p, const struct place_parent *at)
{
	struct place_cache *c = at->cache;

	if (!c)
		return place_is_elsewhere(p, at->dir_fd);
	if (c->elsewhere_of != c->parents.opened)
		c->is_elsewhere = place_is_elsewhere(p, at->dir_fd);
	c->elsewhere_of = c->parents.opened;
	return c->is_elsewhere;
}

void place_parent_put(struct place_parent *at)
{
	if (at->is_own)
		(void)close(at->dir_fd);
	*at = (struct place_parent){ 0 };
}
