/*
 * Patterns keep the order in which they were typed: each option is a group of its own. What cannot have been meant is
 * refused before anything is opened.
 */
#include "cli/filter_options.h"

#include "cli/age.h"
#include "cli/read_file.h"
#include "cli/sizes.h"

#include "agent/choice.h"
#include "agent/ignore_pattern.h"
#include "engine/base/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PATTERN_FILE_MAX = 1024 * 1024, /* comments and empty lines count */
	UNMATCHED_NAMED = 5,
};

struct reading {
	struct choice_spec *spec;
	struct problem *problem;
	uint32_t group;
	bool has_include; /* an --include: useless unless something is excluded */
};

static const char *shown(const char *text, char ret_text[HAUL_ESCAPED_MAX / 8])
{
	return haul_escape(text, strlen(text), ret_text, HAUL_ESCAPED_MAX / 8);
}

static enum filter_action action_of(enum option_id id)
{
	if (id == OPT_ONLY)
		return FILTER_ONLY;
	return id == OPT_INCLUDE || id == OPT_INCLUDE_FROM ? FILTER_INCLUDE : FILTER_EXCLUDE;
}

static haul_status add(struct reading *r, enum filter_action action, const char *pattern, size_t len,
		       const char *origin)
{
	haul_status st = choice_spec_add_rule(r->spec, r->group, action, pattern, len, origin);

	if (st.code == HAUL_CODE_NO_MEMORY)
		return problem_no_memory(r->problem);
	if (haul_failed(st))
		return problem_usage(r->problem, NULL, "at most %d patterns of %d KiB together", CHOICE_RULES_MAX,
				     CHOICE_RULE_BYTES_MAX / 1024);
	return HAUL_OK;
}

/* ---- patterns of options ---- */

static haul_status refuse_negation(struct reading *r, const struct option_use *use)
{
	const char *instead = action_of(use->def->id) == FILTER_EXCLUDE ? "include" : "exclude";
	char typed[HAUL_ESCAPED_MAX / 8], rest[HAUL_ESCAPED_MAX / 8], remedy[HAUL_FAULT_TEXT_MAX];

	(void)snprintf(remedy, sizeof(remedy), "Write --%s=%s before it; a name that begins with ! is \\!...", instead,
		       shown(use->value + 1, rest));
	return problem_usage(r->problem, remedy, "--%s=%s: ! has a meaning in files of patterns alone", use->def->name,
			     shown(use->value, typed));
}

/* Patterns are no paths: "./x" and "../x" match nothing, and a bracket without its end neither. */
static haul_status check_pattern(struct reading *r, const struct option_use *use)
{
	const char *text = use->value;
	char typed[HAUL_ESCAPED_MAX / 8];
	struct ignore_pattern p;
	bool is_never;
	haul_status st;

	if (*text == '!')
		return refuse_negation(r, use);
	if (!strncmp(text, "./", 2) || !strncmp(text, "../", 3))
		return problem_usage(r->problem, "A slash at the start means the directory copied: /name",
				     "--%s=%s: a pattern is no path", use->def->name, shown(text, typed));
	st = ignore_pattern_open(&p, text, strlen(text));
	if (st.code == HAUL_CODE_NO_MEMORY)
		return problem_no_memory(r->problem);
	if (haul_failed(st))
		return problem_usage(r->problem, NULL, "--%s=%s: the pattern is too long or has too many brackets",
				     use->def->name, shown(text, typed));
	is_never = p.form == IGNORE_NEVER;
	ignore_pattern_close(&p);
	if (is_never)
		return problem_usage(r->problem, "A backslash before it makes [ or \\ an ordinary byte",
				     "--%s=%s: this can never match", use->def->name, shown(text, typed));
	return HAUL_OK;
}

static haul_status read_pattern(struct reading *r, const struct option_use *use)
{
	haul_status st = check_pattern(r, use);
	char *origin = NULL;

	if (haul_failed(st))
		return st;
	if (asprintf(&origin, "--%s=%s", use->def->name, use->value) < 0)
		return problem_no_memory(r->problem);
	st = add(r, action_of(use->def->id), use->value, strlen(use->value), origin);
	free(origin);
	return st;
}

/* ---- files of patterns ---- */

/* In a file of --include-from a line includes, and `!` excludes. */
static enum filter_action inverted(enum filter_action action)
{
	return action == FILTER_EXCLUDE ? FILTER_INCLUDE : FILTER_EXCLUDE;
}

static haul_status read_line(struct reading *r, const struct option_use *use, unsigned number, const char *line,
			     size_t len)
{
	enum filter_action action = action_of(use->def->id);
	char *origin = NULL;
	size_t used;
	haul_status st;

	if (!ignore_line(line, len, &used))
		return HAUL_OK;
	if (memchr(line, '\0', used) || used > IGNORE_PATTERN_MAX)
		return problem_usage(r->problem, NULL, "--%s=%s: line %u is no pattern", use->def->name, use->value,
				     number);
	if (asprintf(&origin, "%s:%u: %.*s", use->value, number, (int)used, line) < 0)
		return problem_no_memory(r->problem);
	if (*line == '!')
		st = add(r, inverted(action), line + 1, used - 1, origin);
	else
		st = add(r, action, line, used, origin);
	free(origin);
	return st;
}

static haul_status read_patterns(struct reading *r, const struct option_use *use)
{
	static const char bom[] = "\xef\xbb\xbf";
	char *data = NULL, option[64];
	size_t len = 0, at = 0;
	unsigned number = 0;
	haul_status st;

	(void)snprintf(option, sizeof(option), "--%s", use->def->name);
	st = read_file(option, use->value, PATTERN_FILE_MAX, &data, &len, r->problem);
	if (haul_ok(st) && len >= 3 && !memcmp(data, bom, 3))
		at = 3;
	while (haul_ok(st) && at < len) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t line = end ? (size_t)(end - data) - at : len - at;

		st = read_line(r, use, ++number, data + at, line);
		at += line + 1;
	}
	free(data);
	return st;
}

static haul_status check_includes(struct reading *r)
{
	for (size_t i = 0; i < r->spec->rule_count; i++)
		if (r->spec->rules[i].action != FILTER_INCLUDE)
			return HAUL_OK;
	return r->has_include ? problem_usage(r->problem,
					      "--only=PATTERN copies nothing but what matches; or add an --exclude "
					      "behind it",
					      "--include alone leaves nothing out")
			      : HAUL_OK;
}

/* ---- lists ---- */

static haul_status bad_path(struct reading *r, const char *path, size_t len, const char *why, const char *remedy)
{
	char text[HAUL_ESCAPED_MAX / 8];

	return problem_usage(r->problem, remedy, "--files-from: %s: %s", haul_escape(path, len, text, sizeof(text)),
			     why);
}

/* "./a//b/" is a/b: so `find .` and shells write it. In place; the new length. */
static size_t tidy(char *path, size_t len)
{
	size_t to = 0;

	for (size_t at = 0; at < len;) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t part = slash ? (size_t)(slash - path) - at : len - at;

		if (part && !(part == 1 && path[at] == '.')) {
			if (to)
				path[to++] = '/';
			memmove(path + to, path + at, part);
			to += part;
		}
		at += part + 1;
	}
	return to;
}

static haul_status read_path(struct reading *r, char *path, size_t len)
{
	size_t whole = len;
	haul_status st;

	if (!len)
		return HAUL_OK;
	if (*path == '/')
		return bad_path(r, path, len, "an absolute path", "Paths are as they land below DST");
	len = tidy(path, len);
	if (!len)
		return bad_path(r, path, whole, "the whole source", "Leave out --files-from");
	st = choice_spec_add_path(r->spec, path, len);
	if (st.code == HAUL_CODE_NO_MEMORY)
		return problem_no_memory(r->problem);
	if (st.code == HAUL_CODE_OVERFLOW)
		return problem_usage(r->problem, "Name a directory instead of what lies in it",
				     "--files-from: at most %d paths of %d MiB together", CHOICE_PATHS_MAX,
				     CHOICE_PATH_BYTES_MAX >> 20);
	return haul_failed(st) ? bad_path(r, path, len, "this can be no path below a source", NULL) : HAUL_OK;
}

static haul_status read_list(struct reading *r, const char *file, char end_byte)
{
	char *data = NULL;
	size_t len = 0, at = 0;
	haul_status st = read_file("--files-from", file, CHOICE_PATH_BYTES_MAX, &data, &len, r->problem);

	r->spec->has_paths = true;
	while (haul_ok(st) && at < len) {
		const char *end = memchr(data + at, end_byte, len - at);
		size_t path = end ? (size_t)(end - data) - at : len - at;

		if (memchr(data + at, '\0', path))
			st = problem_usage(r->problem, "Add -0 for a list whose paths end with NUL",
					   "--files-from=%s: a NUL byte in a path", file);
		else
			st = read_path(r, data + at, path);
		at += path + 1;
	}
	free(data);
	return st;
}

static haul_status read_lists(struct reading *r, const struct invocation *inv)
{
	const char *file = invocation_value(inv, OPT_FILES_FROM);
	bool is_nul = invocation_has(inv, OPT_NUL);

	if (is_nul && !file)
		return problem_usage(r->problem, NULL, "-0 says how --files-from=FILE is read: it needs one");
	return file ? read_list(r, file, is_nul ? '\0' : '\n') : HAUL_OK;
}

/* ---- limits ---- */

static haul_status bad_limit(struct reading *r, const char *name, const char *value, const char *wanted)
{
	char text[HAUL_ESCAPED_MAX / 8];

	return problem_usage(r->problem, NULL, "--%s=%s: %s", name, shown(value, text), wanted);
}

static haul_status read_size(struct reading *r, const struct invocation *inv, enum option_id id, const char *name,
			     uint64_t *to)
{
	const char *value = invocation_value(inv, id);

	if (!value)
		return HAUL_OK;
	r->spec->has_limits = true;
	return haul_failed(size_parse(value, to)) ? bad_limit(r, name, value, "a size is 10M, 2.5G or 500KB") : HAUL_OK;
}

static haul_status read_age(struct reading *r, const struct invocation *inv, enum option_id id, const char *name,
			    struct entry_time *to)
{
	const char *value = invocation_value(inv, id);
	struct timespec now;

	if (!value)
		return HAUL_OK;
	r->spec->has_limits = true;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return haul_failed(age_parse(value, &(struct entry_time){ now.tv_sec, (uint32_t)now.tv_nsec }, to))
		   ? bad_limit(r, name, value,
			       "an age is 30s, 15m, 12h, 7d, 4w, or a date: 2026-11-30 or "
			       "2026-11-30T12:00")
		   : HAUL_OK;
}

static haul_status read_limits(struct reading *r, const struct invocation *inv)
{
	struct choice_spec *s = r->spec;
	haul_status st = read_size(r, inv, OPT_MIN_SIZE, "min-size", &s->size_min);

	if (haul_ok(st))
		st = read_size(r, inv, OPT_MAX_SIZE, "max-size", &s->size_max);
	if (haul_ok(st))
		st = read_age(r, inv, OPT_MIN_AGE, "min-age", &s->newest);
	if (haul_ok(st))
		st = read_age(r, inv, OPT_MAX_AGE, "max-age", &s->oldest);
	if (haul_ok(st) && s->size_min > s->size_max)
		st = problem_usage(r->problem, NULL, "--min-size is above --max-size: nothing would be taken");
	if (haul_ok(st) &&
	    (s->oldest.sec > s->newest.sec || (s->oldest.sec == s->newest.sec && s->oldest.nsec > s->newest.nsec)))
		st = problem_usage(r->problem, NULL, "--min-age is above --max-age: nothing would be taken");
	return st;
}

haul_status filter_options_read(const struct invocation *inv, struct choice_spec *ret, struct problem *problem)
{
	struct reading r = { .spec = ret, .problem = problem };
	haul_status st = HAUL_OK;

	choice_spec_open(ret);
	for (size_t i = 0; haul_ok(st) && i < inv->use_count; i++) {
		const struct option_use *use = &inv->uses[i];
		enum option_id id = use->def->id;

		r.has_include = r.has_include || id == OPT_INCLUDE || id == OPT_INCLUDE_FROM;
		if (id == OPT_EXCLUDE || id == OPT_INCLUDE || id == OPT_ONLY)
			st = read_pattern(&r, use);
		else if (id == OPT_EXCLUDE_FROM || id == OPT_INCLUDE_FROM)
			st = read_patterns(&r, use);
		else
			continue;
		r.group++;
	}
	if (haul_ok(st))
		st = check_includes(&r);
	if (haul_ok(st))
		st = read_lists(&r, inv);
	return haul_ok(st) ? read_limits(&r, inv) : st;
}

/* ---- telling ---- */

haul_status filter_options_explain(const struct choice_spec *spec, const char *path, char *ret_text, size_t cap,
				   struct problem *problem)
{
	size_t len = strlen(path);
	bool is_directory = len && path[len - 1] == '/';
	char copy[4096], whole[HAUL_ESCAPED_MAX / 4], part[HAUL_ESCAPED_MAX / 4], rule[HAUL_ESCAPED_MAX / 4];
	const char *verb, *by;
	struct haul_fault fault = { 0 };
	struct choice *c = NULL;
	struct choice_reason why;
	haul_status st;

	if (len >= sizeof(copy))
		return problem_usage(problem, NULL, "--explain-filter: the path is longer than %zu bytes",
				     sizeof(copy) - 1);
	memcpy(copy, path, len + 1);
	copy[tidy(copy, len)] = '\0';
	if (*path == '/' || !*copy)
		return problem_usage(problem, "Paths are below the directory copied",
				     "--explain-filter=%s: not a path below it", shown(path, part));
	st = choice_new(spec, &c, &fault);
	if (haul_ok(st))
		st = choice_explain(c, copy, is_directory, &why);
	choice_free(c);
	if (haul_failed(st))
		return problem_usage(problem, NULL, "%s", fault.text[0] ? fault.text : haul_status_text(st));
	haul_escape(path, len, whole, sizeof(whole));
	verb = why.is_on_way ? "made if something in it is taken" : why.is_taken ? "taken" : "left out";
	by = why.rule != SIZE_MAX
		 ? haul_escape(spec->rules[why.rule].origin, strlen(spec->rules[why.rule].origin), rule, sizeof(rule))
		 : NULL;
	if (!by)
		(void)snprintf(ret_text, cap, "%s: %s: %s", whole, verb,
			       why.is_taken && !why.is_on_way ? "no pattern speaks of it" : "no --only speaks of it");
	else if (why.part_len < strlen(copy))
		(void)snprintf(ret_text, cap, "%s: %s with %s/ by %s", whole, verb,
			       haul_escape(copy, why.part_len, part, sizeof(part)), by);
	else
		(void)snprintf(ret_text, cap, "%s: %s by %s", whole, verb, by);
	return HAUL_OK;
}

const char *filter_options_unmatched(const struct choice_spec *spec, const uint8_t *matched, char *ret_text, size_t cap)
{
	char rule[HAUL_ESCAPED_MAX / 8];
	size_t used = 0, named = 0, more = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < spec->rule_count; i++) {
		const char *origin = spec->rules[i].origin;

		if (matched[i / 8] >> i % 8 & 1 || !origin)
			continue;
		if (named == UNMATCHED_NAMED) {
			more++;
			continue;
		}
		used += (size_t)snprintf(ret_text + used, cap - used, "%s%s", named++ ? ", " : "", shown(origin, rule));
		if (used >= cap)
			return ret_text;
	}
	if (more)
		(void)snprintf(ret_text + used, cap - used, " and %zu more", more);
	return ret_text;
}
