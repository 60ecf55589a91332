/* Words here are short: longer ones are not compared at all. */
#include "cli/suggest.h"

#include <string.h>

enum { WORD_MAX = 32 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, replacements and swaps of neighbours, each counting one. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= a_len; i++)
		d[i][0] = i;
	for (size_t k = 0; k <= b_len; k++)
		d[0][k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		for (size_t k = 1; k <= b_len; k++) {
			size_t change = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);

			d[i][k] = least(change, least(d[i - 1][k], d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	}
	return d[a_len][b_len];
}

struct suggest suggest_begin(const char *typed)
{
	/* Two slips in a long word, one in a short one; none below three letters. */
	size_t len = strlen(typed);

	return (struct suggest){ .typed = typed, .distance = len < 3 ? 1 : len < 6 ? 2 : 3 };
}

void suggest_offer(struct suggest *s, const char *word)
{
	size_t distance = edit_distance(s->typed, word);

	if (distance >= s->distance)
		return;
	s->distance = distance;
	s->best = word;
}
