/* Arrays that grow, and their bounds. */
#include "agent/choice_spec.h"

#include <stdlib.h>
#include <string.h>

void choice_spec_open(struct choice_spec *s)
{
	*s = (struct choice_spec){ .size_max = UINT64_MAX,
				   .oldest = { INT64_MIN, 0 },
				   .newest = { INT64_MAX, 999999999 } };
}

void choice_spec_close(struct choice_spec *s)
{
	for (size_t i = 0; i < s->rule_count; i++) {
		free(s->rules[i].pattern);
		free(s->rules[i].origin);
	}
	for (size_t i = 0; i < s->path_count; i++)
		free(s->paths[i]);
	free(s->rules);
	free(s->paths);
	choice_spec_open(s);
}

bool choice_spec_is_empty(const struct choice_spec *s)
{
	return !s->rule_count && !s->has_paths && !s->has_limits;
}

static void *grown(void *array, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap ? 2 * *cap : 16;
	void *bigger;

	if (count < *cap)
		return array;
	bigger = realloc(array, more * size);
	if (bigger)
		*cap = more;
	return bigger;
}

haul_status choice_spec_add_rule(struct choice_spec *s, uint32_t group, enum filter_action action, const char *pattern,
				 size_t len, const char *origin)
{
	struct filter_rule *rules, rule = { .group = group, .action = action };

	if (s->rule_count && s->rules[s->rule_count - 1].group > group)
		return HAUL_BAD_VALUE;
	if (s->rule_count == CHOICE_RULES_MAX || len > CHOICE_RULE_BYTES_MAX - s->rule_bytes)
		return HAUL_OVERFLOW;
	rules = grown(s->rules, s->rule_count, &s->rule_cap, sizeof(*rules));
	if (!rules)
		return HAUL_NO_MEMORY;
	s->rules = rules;
	rule.pattern = strndup(pattern, len);
	rule.origin = origin ? strdup(origin) : NULL;
	if (!rule.pattern || (origin && !rule.origin)) {
		free(rule.pattern);
		free(rule.origin);
		return HAUL_NO_MEMORY;
	}
	s->rules[s->rule_count++] = rule;
	s->rule_bytes += len;
	return HAUL_OK;
}

static haul_status check_path(const char *path, size_t len)
{
	const char *at = path, *end = path + len;
	haul_status st = HAUL_OK;

	while (haul_ok(st) && at <= end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t n = (size_t)((slash ? slash : end) - at);

		st = haul_component_check(at, n);
		at += n + 1;
	}
	return haul_ok(st) ? HAUL_OK : HAUL_BAD_VALUE;
}

haul_status choice_spec_add_path(struct choice_spec *s, const char *path, size_t len)
{
	char **paths;
	haul_status st = check_path(path, len);

	if (haul_failed(st))
		return st;
	if (s->path_count == CHOICE_PATHS_MAX || len + 1 > CHOICE_PATH_BYTES_MAX - s->path_bytes)
		return HAUL_OVERFLOW;
	paths = grown(s->paths, s->path_count, &s->path_cap, sizeof(*paths));
	if (!paths)
		return HAUL_NO_MEMORY;
	s->paths = paths;
	s->paths[s->path_count] = strndup(path, len);
	if (!s->paths[s->path_count])
		return HAUL_NO_MEMORY;
	s->path_count++;
	s->path_bytes += len + 1;
	s->has_paths = true;
	return HAUL_OK;
}
