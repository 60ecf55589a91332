/* "Did you mean": the known word nearest to what was typed, by edit distance with swapped neighbours. */
#ifndef HAUL_CLI_SUGGEST_H
#define HAUL_CLI_SUGGEST_H

#include <stddef.h>

struct suggest {
	const char *typed; /* held */
	const char *best;  /* the nearest offered so far, or NULL while none is near enough */
	size_t distance;
};

struct suggest suggest_begin(const char *typed);
void suggest_offer(struct suggest *s, const char *word); /* word is held */

#endif
