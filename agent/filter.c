/* Groups in order, the first that decides wins; inside one the last rule that matches. */
#include "agent/filter.h"

#include "agent/ignore_pattern.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

struct compiled_rule {
	struct ignore_pattern pattern;
	enum filter_action action;
	uint32_t group;
	bool has_matched;
};

struct filter {
	struct compiled_rule *rules; /* owned */
	size_t count;
	struct ignore_matcher *matcher;
	bool has_only; /* what no rule speaks of is left */
};

static haul_status compile(struct filter *f, const struct filter_rule *from, struct haul_fault *fault)
{
	struct compiled_rule *to = &f->rules[f->count];
	char shown[HAUL_FAULT_TEXT_MAX / 2];
	haul_status st = ignore_pattern_open(&to->pattern, from->pattern, strlen(from->pattern));

	if (haul_failed(st))
		return haul_fault_set(fault, st, "the pattern %s is too long or has too many brackets",
				      haul_escape(from->pattern, strlen(from->pattern), shown, sizeof(shown)));
	to->action = from->action;
	to->group = from->group;
	f->has_only = f->has_only || from->action == FILTER_ONLY;
	f->count++;
	return HAUL_OK;
}

haul_status filter_new(const struct choice_spec *spec, struct filter **ret_filter, struct haul_fault *fault)
{
	struct filter *f = calloc(1, sizeof(*f));
	haul_status st = HAUL_OK;

	if (!f)
		return HAUL_NO_MEMORY;
	f->rules = calloc(spec->rule_count + 1, sizeof(*f->rules));
	f->matcher = ignore_matcher_new();
	if (!f->rules || !f->matcher)
		st = HAUL_NO_MEMORY;
	for (size_t i = 0; haul_ok(st) && i < spec->rule_count; i++)
		st = compile(f, &spec->rules[i], fault);
	if (haul_failed(st)) {
		filter_free(f);
		return st;
	}
	*ret_filter = f;
	return HAUL_OK;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		ignore_pattern_close(&f->rules[i].pattern);
	free(f->rules);
	ignore_matcher_free(f->matcher);
	free(f);
}

static haul_status matches(struct filter *f, struct compiled_rule *r, const struct filter_question *q,
			   bool *ret_matches)
{
	haul_status st;

	*ret_matches = false;
	if (q->is_top && r->pattern.is_path)
		return HAUL_OK;
	st = ignore_pattern_match(&r->pattern, f->matcher, q->path, q->len, q->is_directory, ret_matches);
	r->has_matched = r->has_matched || *ret_matches;
	return st;
}

/* The rule that decides; f->count: none. */
static haul_status find_rule(struct filter *f, const struct filter_question *q, size_t *ret_rule)
{
	size_t found = f->count;

	for (size_t begin = 0, end; begin < f->count; begin = end) {
		bool is_decided = found < f->count;

		for (end = begin + 1; end < f->count && f->rules[end].group == f->rules[begin].group;)
			end++;
		for (size_t i = end; i-- > begin;) {
			bool is_match = false;
			haul_status st;

			if (is_decided && f->rules[i].has_matched)
				continue;
			st = matches(f, &f->rules[i], q, &is_match);
			if (haul_failed(st))
				return st;
			if (is_match && !is_decided) {
				found = i;
				is_decided = true;
			}
		}
	}
	*ret_rule = found;
	return HAUL_OK;
}

haul_status filter_ask(struct filter *f, const struct filter_question *q, struct filter_answer *ret_answer)
{
	size_t rule = f->count;
	haul_status st = find_rule(f, q, &rule);

	if (haul_failed(st))
		return st;
	*ret_answer = (struct filter_answer){ .take = SCAN_TAKE, .is_within = q->is_within, .rule = SIZE_MAX };
	if (rule < f->count) {
		ret_answer->rule = rule;
		ret_answer->take = f->rules[rule].action == FILTER_EXCLUDE ? SCAN_LEAVE : SCAN_TAKE;
		ret_answer->is_within = true;
	} else if (f->has_only && !q->is_within) {
		ret_answer->take = q->is_directory ? SCAN_ON_WAY : SCAN_LEAVE;
	}
	return HAUL_OK;
}

bool filter_has_matched(const struct filter *f, size_t i)
{
	return i < f->count && f->rules[i].has_matched;
}
