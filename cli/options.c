/* The command line: one pass over argv; every option is checked where it stands, so that the first mistake is the one
 * reported. */
#include "cli/options_impl.h"

#include "engine/base/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

haul_status options_add(struct parser *p, const struct option_def *def, const char *value, bool is_environment)
{
	struct invocation *inv = p->inv;

	if (inv->use_count == inv->use_cap) {
		size_t cap = inv->use_cap ? inv->use_cap * 2 : 16;
		struct option_use *more = realloc(inv->uses, cap * sizeof(*more));

		if (!more)
			return problem_no_memory(p->problem);
		inv->uses = more;
		inv->use_cap = cap;
	}
	inv->uses[inv->use_count++] = (struct option_use){ def, value, is_environment };
	return HAUL_OK;
}

/* "--verify=disk" or "-x" as the user would recognise it, escaped. */
const char *options_shown(const struct option_def *def, const char *value, char *ret_text, size_t cap)
{
	char escaped[HAUL_ESCAPED_MAX / 8];

	if (!def->name)
		(void)snprintf(ret_text, cap, "-%c", def->letter);
	else if (!value)
		(void)snprintf(ret_text, cap, "--%s", def->name);
	else
		(void)snprintf(ret_text, cap, "--%s=%s", def->name,
			       haul_escape(value, strlen(value), escaped, sizeof(escaped)));
	return ret_text;
}

haul_status options_refuse_later(struct parser *p, const char *what)
{
	return problem_usage(p->problem, NULL, "%s is not in this version", what);
}

/* The words of "a|b|c" as "a, b or c". */
static const char *word_list(const char *words, char *ret_text, size_t cap)
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (const char *w = words; w && used < cap;) {
		const char *end = strchr(w, '|');
		int len = (int)(end ? (size_t)(end - w) : strlen(w));

		used += (size_t)snprintf(ret_text + used, cap - used, "%s%.*s",
					 w == words ? ""
					 : end      ? ", "
						    : " or ",
					 len, w);
		w = end ? end + 1 : NULL;
	}
	return ret_text;
}

haul_status options_check_word(struct parser *p, const struct option_def *def, const char *value)
{
	char text[HAUL_FAULT_TEXT_MAX / 2], words[128];

	if (!value || !option_has_word(def->words, value, strlen(value)))
		return problem_usage(p->problem, NULL, "--%s takes %s: write --%s=WORD", def->name,
				     word_list(def->words, words, sizeof(words)), def->name);
	if (!def->later_verbs && option_has_word(def->later, value, strlen(value)))
		return options_refuse_later(p, options_shown(def, value, text, sizeof(text)));
	return HAUL_OK;
}

/* A complete option: one more use. */
static haul_status take(struct parser *p, const struct option_def *def, const char *value)
{
	if (def->value == VALUE_WORD) {
		haul_status st = options_check_word(p, def, value);

		if (haul_failed(st))
			return st;
	}
	return options_add(p, def, value, false);
}

static haul_status unknown_option(struct parser *p, const char *name, size_t len, const char *as_typed)
{
	const char *instead = option_foreign(name, len);
	char escaped[HAUL_ESCAPED_MAX / 8], remedy[128], plain[64];
	const char *near;

	haul_escape(as_typed, strlen(as_typed), escaped, sizeof(escaped));
	if (instead)
		return problem_usage(p->problem, instead, "haul has no option %s", escaped);
	(void)snprintf(plain, sizeof(plain), "%.*s", len < sizeof(plain) ? (int)len : 0, name);
	near = len > 1 ? option_suggest(plain) : NULL;
	if (near)
		(void)snprintf(remedy, sizeof(remedy), "Did you mean --%s ?", near);
	else
		(void)snprintf(remedy, sizeof(remedy), "See haul --help");
	return problem_usage(p->problem, remedy, "haul has no option %s", escaped);
}

/* `text` follows the two dashes. */
static haul_status parse_long(struct parser *p, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	const struct option_def *def = option_find(text, len);
	const char *value = equals ? equals + 1 : NULL;
	const char *next = p->at < p->argc ? p->argv[p->at] : NULL;
	char what[64];

	if (!def)
		return unknown_option(p, text, len, p->argv[p->at - 1]);
	if (!def->verbs)
		return options_refuse_later(p, options_shown(def, NULL, what, sizeof(what)));
	if (def->value == VALUE_NONE && value)
		return problem_usage(p->problem, NULL, "--%s takes no value", def->name);
	if (def->value == VALUE_TEXT && !value && next) {
		value = next;
		p->at++;
	}
	if (def->value == VALUE_TEXT && (!value || !*value))
		return problem_usage(p->problem, NULL, "--%s needs a value: --%s=%s", def->name, def->name, def->hint);
	if (def->value == VALUE_WORD && !value && next && option_has_word(def->words, next, strlen(next))) {
		value = next;
		p->at++;
	}
	return take(p, def, value);
}

/* A bundle of letters; none of ours takes a value. */
static haul_status parse_letters(struct parser *p, const char *letters)
{
	for (const char *l = letters; *l; l++) {
		const struct option_def *def = option_find_letter(*l);
		char typed[3] = { '-', *l, '\0' };
		haul_status st;

		if (!def)
			return unknown_option(p, l, 1, typed);
		if (!def->verbs)
			return options_refuse_later(p, typed);
		st = take(p, def, NULL);
		if (haul_failed(st))
			return st;
	}
	return HAUL_OK;
}

static haul_status name_verb(struct parser *p, const char *name)
{
	const struct verb_def *verb = verb_find(name);
	char escaped[HAUL_ESCAPED_MAX / 8], remedy[128] = "See haul --help";
	const char *near;

	if (verb && !verb->is_built)
		return options_refuse_later(p, verb->name);
	if (verb) {
		p->inv->verb = verb;
		return HAUL_OK;
	}
	near = verb_suggest(name);
	if (near)
		(void)snprintf(remedy, sizeof(remedy), "Did you mean haul %s ?", near);
	return problem_usage(p->problem, remedy, "haul has no verb %s",
			     haul_escape(name, strlen(name), escaped, sizeof(escaped)));
}

static haul_status parse_arguments(struct parser *p)
{
	bool is_over = false;

	while (p->at < p->argc) {
		const char *arg = p->argv[p->at++];
		haul_status st = HAUL_OK;

		if (!is_over && !strcmp(arg, "--"))
			is_over = true;
		else if (!is_over && !strncmp(arg, "--", 2))
			st = parse_long(p, arg + 2);
		else if (!is_over && arg[0] == '-' && arg[1])
			st = parse_letters(p, arg + 1);
		else if (!p->inv->verb)
			st = name_verb(p, arg);
		else
			p->inv->operands[p->inv->operand_count++] = arg;
		if (haul_failed(st))
			return st;
	}
	return HAUL_OK;
}

static haul_status refuse_misplaced(struct parser *p, const char *what)
{
	const struct verb_def *verb = p->inv->verb;

	if (verb)
		return problem_usage(p->problem, NULL, "haul %s has no option %s", verb->name, what);
	return problem_usage(p->problem, "See haul --help", "haul %s needs a verb", what);
}

/* What was typed must belong to the verb; what the environment says for other verbs is dropped. */
static haul_status fit_to_verb(struct parser *p)
{
	struct invocation *inv = p->inv;
	size_t kept = 0;
	char what[64];

	for (size_t i = 0; i < inv->use_count; i++) {
		struct option_use *use = &inv->uses[i];
		bool fits = use->def->verbs & (inv->verb ? inv->verb->verb : 0U);

		/* Without a verb only what every verb has makes sense, and -h alone. */
		if (!inv->verb)
			fits = use->def->verbs == ~0U || (use->def->letter == 'h' && p->argc == 2);
		if (fits && inv->verb && use->def->later_verbs & inv->verb->verb &&
		    option_has_word(use->def->later, use->value, strlen(use->value)))
			return options_refuse_later(p, options_shown(use->def, use->value, what, sizeof(what)));
		if (fits)
			inv->uses[kept++] = *use;
		else if (!use->is_environment)
			return refuse_misplaced(p, options_shown(use->def, NULL, what, sizeof(what)));
	}
	inv->use_count = kept;
	return HAUL_OK;
}

static haul_status check_operands(struct parser *p)
{
	const struct invocation *inv = p->inv;
	char remedy[64];

	if (!inv->verb || invocation_has(inv, OPT_HELP))
		return HAUL_OK;
	(void)snprintf(remedy, sizeof(remedy), "See haul help %s", inv->verb->name);
	if (inv->operand_count < inv->verb->min)
		return problem_usage(p->problem, remedy, "too little said: %.*s", (int)strcspn(inv->verb->usage, "\n"),
				     inv->verb->usage);
	if (inv->operand_count > inv->verb->max)
		return problem_usage(p->problem, remedy, "too much said: %.*s", (int)strcspn(inv->verb->usage, "\n"),
				     inv->verb->usage);
	return HAUL_OK;
}

haul_status invocation_parse(struct invocation *ret, int argc, char *const *argv, char *const *environment,
			     struct problem *problem)
{
	struct invocation inv = { 0 };
	struct parser p = { .inv = &inv, .argc = argc, .at = 1, .argv = argv, .problem = problem };
	haul_status st;

	inv.operands = calloc((size_t)argc + 1, sizeof(*inv.operands));
	if (!inv.operands)
		return problem_no_memory(problem);
	st = options_from_environment(&p, environment);
	if (haul_ok(st))
		st = parse_arguments(&p);
	if (haul_ok(st))
		st = fit_to_verb(&p);
	if (haul_ok(st))
		st = check_operands(&p);
	if (haul_failed(st)) {
		invocation_close(&inv);
		return st;
	}
	*ret = inv;
	return HAUL_OK;
}

void invocation_close(struct invocation *inv)
{
	free(inv->uses);
	free(inv->operands);
	*inv = (struct invocation){ 0 };
}

size_t invocation_next(const struct invocation *inv, enum option_id id, size_t from)
{
	size_t i = from;

	while (i < inv->use_count && inv->uses[i].def->id != id)
		i++;
	return i;
}

bool invocation_has(const struct invocation *inv, enum option_id id)
{
	return invocation_next(inv, id, 0) < inv->use_count;
}

const char *invocation_value(const struct invocation *inv, enum option_id id)
{
	const char *value = NULL;

	for (size_t i = 0; i < inv->use_count; i++)
		if (inv->uses[i].def->id == id)
			value = inv->uses[i].value;
	return value;
}
