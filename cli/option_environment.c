/* HAUL_OPTION_NAME: what the environment says, checked as strictly as what is typed. */
#include "cli/options_impl.h"

#include "engine/base/escape.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ENVIRONMENT_PREFIX "HAUL_OPTION_"

static bool is_yes(const char *value)
{
	return !strcmp(value, "1") || !strcmp(value, "yes") || !strcmp(value, "true");
}

static bool is_no(const char *value)
{
	return !*value || !strcmp(value, "0") || !strcmp(value, "no") || !strcmp(value, "false");
}

/* The option that HAUL_OPTION_NAME stands for: lower case, '_' for '-'. */
static const struct option_def *environment_option(const char *name, size_t len)
{
	char lower[64] = "";

	if (len >= sizeof(lower))
		return NULL;
	for (size_t i = 0; i < len; i++)
		lower[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
	return option_find(lower, len);
}

/* "--lanes=x: why" becomes "HAUL_OPTION_LANES=x: why". */
static void blame(struct problem *problem, const struct option_def *def)
{
	size_t len = strlen(def->name);
	char text[sizeof(problem->text)], variable[96];

	if (strncmp(problem->text, "--", 2) != 0 || strncmp(problem->text + 2, def->name, len) != 0 ||
	    isalnum((unsigned char)problem->text[2 + len]) || problem->text[2 + len] == '-')
		return;
	(void)snprintf(variable, sizeof(variable), ENVIRONMENT_PREFIX "%s", def->name);
	for (char *at = variable; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	(void)snprintf(text, sizeof(text), "%s%s", variable, problem->text + 2 + len);
	memcpy(problem->text, text, sizeof(problem->text));
}

/* One "HAUL_OPTION_NAME=VALUE"; `name` follows the prefix. */
static haul_status parse_variable(struct parser *p, const char *name)
{
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_def *def = environment_option(name, len);
	const char *value = equals ? equals + 1 : "";
	char text[HAUL_FAULT_TEXT_MAX / 2], variable[96];
	haul_status st = HAUL_OK;

	(void)snprintf(variable, sizeof(variable), ENVIRONMENT_PREFIX "%.*s", len < 64 ? (int)len : 64, name);
	haul_escape(variable, strlen(variable), text, sizeof(text));
	if (!def)
		return problem_usage(p->problem, "Unset it, or see haul --help", "%s names no option of haul", text);
	if (def->is_flag_only)
		return problem_usage(p->problem, "Unset it, and give the option where it is meant",
				     "%s is not taken from the environment", text);
	if (!def->verbs)
		return options_refuse_later(p, text);
	if (def->value == VALUE_NONE) {
		if (is_no(value))
			return HAUL_OK;
		if (!is_yes(value))
			return problem_usage(p->problem, NULL, "%s takes 1 or 0", text);
		return options_add(p, def, NULL, true);
	}
	if (def->value == VALUE_TEXT && !*value)
		return HAUL_OK; /* as one that is not set */
	if (def->value == VALUE_WORD)
		st = options_check_word(p, def, value);
	if (haul_ok(st))
		return options_add(p, def, value, true);
	blame(p->problem, def);
	return st;
}

haul_status options_from_environment(struct parser *p, char *const *environment)
{
	static const size_t prefix_len = sizeof(ENVIRONMENT_PREFIX) - 1;

	for (; environment && *environment; environment++) {
		haul_status st;

		if (strncmp(*environment, ENVIRONMENT_PREFIX, prefix_len))
			continue;
		st = parse_variable(p, *environment + prefix_len);
		if (haul_failed(st))
			return st;
	}
	return HAUL_OK;
}

/* Whether what stands on the command line wins over use `i`. */
static bool is_overridden(const struct invocation *inv, size_t i)
{
	for (size_t k = i + 1; k < inv->use_count; k++)
		if (inv->uses[k].def == inv->uses[i].def && !inv->uses[k].is_environment)
			return true;
	return false;
}

void invocation_blame(const struct invocation *inv, struct problem *problem)
{
	for (size_t i = 0; i < inv->use_count; i++)
		if (inv->uses[i].is_environment && inv->uses[i].def->name && !is_overridden(inv, i))
			blame(problem, inv->uses[i].def);
}

const char *invocation_environment(const struct invocation *inv, char *ret_text, size_t cap)
{
	char one[HAUL_FAULT_TEXT_MAX / 2];
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < inv->use_count && used < cap; i++) {
		const struct option_use *use = &inv->uses[i];

		if (use->is_environment && !is_overridden(inv, i))
			used += (size_t)snprintf(ret_text + used, cap - used, "%s%s", used ? ", " : "",
						 options_shown(use->def, use->value, one, sizeof(one)));
	}
	return ret_text;
}

bool invocation_wants_json(int argc, char *const *argv, char *const *environment)
{
	static const char variable[] = ENVIRONMENT_PREFIX "JSON=";

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, variable, sizeof(variable) - 1))
			return is_yes(*environment + sizeof(variable) - 1);
	return false;
}
