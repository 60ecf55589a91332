/* What something gets when facts alone are meant: META(some_facts), for one call. */
#ifndef HAUL_TESTS_META_OF_H
#define HAUL_TESTS_META_OF_H

#include "engine/partial.h"

#define META(facts_) (&(struct place_meta){ .facts = &(facts_) })

#endif
