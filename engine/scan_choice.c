/* Asking whether a name is taken (scan_choice.h). */
#include "engine/scan_state.h"

static haul_status ask(struct scan *s, const struct scan_frame *f, size_t i, const struct entry_facts *facts,
		       enum scan_take *ret_take, uint32_t *ret_state)
{
	const struct scan_dir *d = &f->dirs[f->names[i].dir];
	size_t landing = s->sources[d->source].landing_len, below = landing + (landing > 0);
	const struct scan_question q = { .path = s->path.at,
					 .len = s->path.len,
					 .below = below < s->path.len ? below : s->path.len,
					 .facts = facts,
					 .state = d->choice };

	return s->choice.take(s->choice.ctx, &q, ret_take, ret_state);
}

static bool is_left(enum scan_take take)
{
	return take == SCAN_LEAVE || take == SCAN_LEAVE_UNKNOWN;
}

haul_status scan_ask_choice(struct scan *s, const struct scan_frame *f, size_t i, const struct entry_facts *facts,
			    enum scan_take *ret_take, uint32_t *ret_state)
{
	struct entry_facts guess = { .kind = ENTRY_DIRECTORY };
	haul_status st;

	*ret_state = 0;
	*ret_take = SCAN_TAKE;
	if (!s->choice.take)
		return HAUL_OK;
	if (facts)
		return ask(s, f, i, facts, ret_take, ret_state);
	st = ask(s, f, i, &guess, ret_take, ret_state);
	if (haul_failed(st) || !is_left(*ret_take))
		return st;
	guess.kind = ENTRY_LINK; /* as a file, but that it has neither size nor age */
	return ask(s, f, i, &guess, ret_take, ret_state);
}
