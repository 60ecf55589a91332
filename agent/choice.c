/*
 * Filters by their rules, lists by a sorted array, limits by two comparisons. What is left by any is left; a directory
 * on the way for any is on the way.
 *
 * Listed paths are sorted with the slash below every other byte, so that what lies in a directory follows it at once:
 * the first that is not below a path tells whether the path is listed, on the way to one, or neither.
 */
#include "agent/choice.h"

#include "agent/filter.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_WITHIN = 1 << 0 /* chosen by a rule */, STATE_LISTED = 1 << 1 };

struct listed {
	const char *path; /* in `texts` */
	bool is_met;
};

struct choice {
	struct filter *filter; /* NULL: no rules */
	size_t rule_count;
	bool has_paths;
	struct listed *listed; /* owned, sorted */
	size_t listed_count;
	char *texts; /* owned */
	bool has_limits;
	uint64_t size_min, size_max;
	struct entry_time oldest, newest;
	struct choice_counts left;
};

/* ---- the list ---- */

static int path_compare(const char *a, const char *b, size_t b_len)
{
	size_t i = 0;

	while (i < b_len && a[i] && a[i] == b[i])
		i++;
	if (i == b_len)
		return a[i] ? 1 : 0;
	if (!a[i])
		return -1;
	if ((a[i] == '/') != (b[i] == '/'))
		return a[i] == '/' ? -1 : 1;
	return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
}

static int by_path(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return path_compare(x->path, y->path, strlen(y->path));
}

static haul_status adopt_list(struct choice *c, const struct choice_spec *spec)
{
	char *at;

	c->has_paths = spec->has_paths;
	if (!spec->path_count)
		return HAUL_OK;
	c->listed = calloc(spec->path_count, sizeof(*c->listed));
	c->texts = malloc(spec->path_bytes);
	if (!c->listed || !c->texts)
		return HAUL_NO_MEMORY;
	at = c->texts;
	for (size_t i = 0; i < spec->path_count; i++) {
		size_t len = strlen(spec->paths[i]) + 1;

		c->listed[i].path = memcpy(at, spec->paths[i], len);
		at += len;
	}
	c->listed_count = spec->path_count;
	qsort(c->listed, c->listed_count, sizeof(*c->listed), by_path);
	return HAUL_OK;
}

/* The first listed path that is not before `path`. */
static size_t lower_bound(const struct choice *c, const char *path, size_t len)
{
	size_t low = 0, high = c->listed_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path_compare(c->listed[middle].path, path, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* *is_listed: something that the path lies in is; then also whether the path itself is. */
static enum scan_take ask_list(struct choice *c, const char *path, size_t len, bool is_directory, bool *is_listed)
{
	size_t i;

	if (!c->has_paths)
		return SCAN_TAKE;
	i = lower_bound(c, path, len);
	for (; i < c->listed_count && !path_compare(c->listed[i].path, path, len); i++) {
		c->listed[i].is_met = true;
		*is_listed = true;
	}
	if (*is_listed)
		return SCAN_TAKE;
	if (is_directory && i < c->listed_count && !strncmp(c->listed[i].path, path, len) &&
	    c->listed[i].path[len] == '/')
		return SCAN_ON_WAY_UNKNOWN;
	return SCAN_LEAVE_UNKNOWN;
}

void choice_note_met(struct choice *c, const char *path)
{
	bool is_listed = false;

	(void)ask_list(c, path, strlen(path), false, &is_listed);
}

const char *choice_next_missing(const struct choice *c, size_t *at)
{
	while (*at < c->listed_count) {
		const struct listed *l = &c->listed[(*at)++];

		if (!l->is_met)
			return l->path;
	}
	return NULL;
}

/* ---- limits ---- */

static int time_compare(const struct entry_time *a, const struct entry_time *b)
{
	if (a->sec != b->sec)
		return a->sec < b->sec ? -1 : 1;
	return a->nsec < b->nsec ? -1 : a->nsec > b->nsec;
}

static bool is_within_limits(const struct choice *c, const struct entry_facts *facts)
{
	if (!c->has_limits || facts->kind != ENTRY_FILE)
		return true;
	return facts->size >= c->size_min && facts->size <= c->size_max &&
	       time_compare(&facts->mtime, &c->oldest) >= 0 && time_compare(&facts->mtime, &c->newest) <= 0;
}

/* ---- all of it ---- */

haul_status choice_new(const struct choice_spec *spec, struct choice **ret_choice, struct haul_fault *fault)
{
	struct choice *c = calloc(1, sizeof(*c));
	haul_status st;

	if (!c)
		return HAUL_NO_MEMORY;
	c->rule_count = spec->rule_count;
	c->has_limits = spec->has_limits;
	c->size_min = spec->size_min;
	c->size_max = spec->size_max;
	c->oldest = spec->oldest;
	c->newest = spec->newest;
	st = adopt_list(c, spec);
	if (haul_ok(st) && spec->rule_count)
		st = filter_new(spec, &c->filter, fault);
	if (haul_failed(st)) {
		choice_free(c);
		return st;
	}
	*ret_choice = c;
	return HAUL_OK;
}

void choice_free(struct choice *c)
{
	if (!c)
		return;
	filter_free(c->filter);
	free(c->listed);
	free(c->texts);
	free(c);
}

static haul_status ask_rules(struct choice *c, const struct filter_question *q, struct filter_answer *ret_answer)
{
	*ret_answer = (struct filter_answer){ .take = SCAN_TAKE, .is_within = q->is_within, .rule = SIZE_MAX };
	return c->filter ? filter_ask(c->filter, q, ret_answer) : HAUL_OK;
}

/* What more of them leave out; of two the one that only this end can know. */
static enum scan_take both(enum scan_take a, enum scan_take b)
{
	static const enum scan_take strongest[] = { SCAN_LEAVE, SCAN_LEAVE_UNKNOWN, SCAN_ON_WAY_UNKNOWN, SCAN_ON_WAY };

	for (size_t i = 0; i < sizeof(strongest) / sizeof(strongest[0]); i++)
		if (a == strongest[i] || b == strongest[i])
			return strongest[i];
	return SCAN_TAKE;
}

static haul_status decide(struct choice *c, const struct scan_question *q, enum scan_take *ret_take,
			  uint32_t *ret_state)
{
	bool is_top = q->below == q->len, is_listed = q->state & STATE_LISTED;
	const struct filter_question fq = { .path = is_top ? q->path : q->path + q->below,
					    .len = is_top ? q->len : q->len - q->below,
					    .is_top = is_top,
					    .is_directory = q->facts->kind == ENTRY_DIRECTORY,
					    .is_within = q->state & STATE_WITHIN };
	struct filter_answer answer;
	enum scan_take take;
	haul_status st = ask_rules(c, &fq, &answer);

	if (haul_failed(st))
		return st;
	take = both(answer.take, ask_list(c, q->path, q->len, fq.is_directory, &is_listed));
	*ret_take = is_within_limits(c, q->facts) ? take : both(take, SCAN_LEAVE_UNKNOWN);
	*ret_state = (answer.is_within ? STATE_WITHIN : 0u) | (is_listed ? STATE_LISTED : 0u);
	return HAUL_OK;
}

static haul_status take(void *ctx, const struct scan_question *q, enum scan_take *ret_take, uint32_t *ret_state)
{
	struct choice *c = ctx;
	haul_status st = decide(c, q, ret_take, ret_state);

	if (haul_ok(st) && (*ret_take == SCAN_LEAVE || *ret_take == SCAN_LEAVE_UNKNOWN)) {
		c->left.entries++;
		c->left.files += q->facts->kind == ENTRY_FILE;
	}
	return st;
}

struct scan_choice choice_scan(struct choice *c)
{
	return (struct scan_choice){ take, c };
}

size_t choice_matched(const struct choice *c, uint8_t *ret_bits, size_t cap)
{
	size_t bytes = (c->rule_count + 7) / 8;

	if (bytes > cap)
		bytes = cap;
	memset(ret_bits, 0, bytes);
	for (size_t i = 0; i < 8 * bytes; i++)
		ret_bits[i / 8] = (uint8_t)(ret_bits[i / 8] | (filter_has_matched(c->filter, i) ? 1u << i % 8 : 0u));
	return bytes;
}

struct choice_counts choice_left(const struct choice *c)
{
	return c->left;
}

/* ---- paths alone ---- */

haul_status choice_explain(struct choice *c, const char *path, bool is_directory, struct choice_reason *ret_reason)
{
	struct choice_reason r = { .is_taken = true, .rule = SIZE_MAX };
	bool is_within = false, is_last = false;
	size_t len = 0, whole = strlen(path);

	while (!is_last && r.is_taken) {
		const char *slash = strchr(path + len + (len > 0), '/');
		struct filter_answer answer;
		struct filter_question q = { .path = path };
		haul_status st;

		len = slash ? (size_t)(slash - path) : whole;
		is_last = len == whole;
		q.len = len;
		q.is_directory = !is_last || is_directory;
		q.is_within = is_within;
		st = ask_rules(c, &q, &answer);
		if (haul_failed(st))
			return st;
		is_within = answer.is_within;
		r.is_taken = answer.take == SCAN_TAKE || answer.take == SCAN_ON_WAY;
		r.is_on_way = answer.take == SCAN_ON_WAY;
		if (answer.rule != SIZE_MAX) {
			r.rule = answer.rule;
			r.part_len = len;
		}
	}
	*ret_reason = r;
	return HAUL_OK;
}

static bool is_left_below(struct choice *c, const char *path, bool is_directory)
{
	struct choice_reason r;

	return haul_failed(choice_explain(c, path, is_directory, &r)) || !r.is_taken || r.is_on_way;
}

bool choice_protects(struct choice *c, const char *path, bool is_directory, unsigned landing)
{
	const char *slash = strchr(path, '/');

	if (!c->filter)
		return false;
	if (landing & CHOICE_LANDS_AS_CONTENTS && is_left_below(c, path, is_directory))
		return true;
	return landing & CHOICE_LANDS_BY_NAME && slash && is_left_below(c, slash + 1, is_directory);
}
