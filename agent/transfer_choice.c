/*
 * Which entries a transfer takes: told to a peer before JOB, asked of both ends after it.
 *
 * Filters are applied where the sources are: a directory that is left out is then never looked into, and nothing of it
 * crosses. So in a pull they travel, bounded, and the peer compiles them within bounds (ignore_pattern.h); the other
 * way, the receiver refusing entries one by one, would walk and announce what nobody wants.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"

#include <stdio.h>
#include <string.h>

enum { PART_BYTES = 96 * 1024 /* of patterns or paths in one message; one of them may be longer */ };

uint32_t transfer_choice_flags(const struct transfer *t)
{
	const struct transfer_request *req = t->req;
	uint32_t flags = 0;

	for (size_t i = 0; i < t->landing.count; i++)
		flags |= t->landing.landed[i].name ? CHOICE_NAMED : CHOICE_CONTENTS;
	flags |= (req->update ? CHOICE_UPDATE : 0u) | (req->existing ? CHOICE_EXISTING : 0u) |
		 (req->ignore_existing ? CHOICE_ABSENT : 0u);
	return flags | (req->size_only ? CHOICE_SIZE_ONLY : 0u) | (req->ignore_times ? CHOICE_IGNORE_TIMES : 0u);
}

/* A peer that sends leaves out, one that receives has rules of what it replaces, and either compares. */
static bool is_for_peer(const struct transfer *t)
{
	uint32_t receivers = transfer_choice_flags(t) & ~(uint32_t)(CHOICE_CONTENTS | CHOICE_NAMED);

	if (t->is_local || t->choice_is_told)
		return false;
	if (t->is_push && receivers)
		return true;
	return t->req->choice && (!t->is_push || t->req->verb == TRANSFER_VERIFY || transfer_is_sync(t));
}

static size_t fill_rules(struct transfer *t, const struct choice_spec *c, struct choice_rule *rules)
{
	size_t count = 0, bytes = 0;

	while (t->choice_rules_told + count < c->rule_count && count < MESSAGE_RULES_MAX && bytes < PART_BYTES) {
		const struct filter_rule *r = &c->rules[t->choice_rules_told + count];
		size_t len = strlen(r->pattern);

		rules[count++] = (struct choice_rule){ r->group, (enum choice_action)r->action, { r->pattern, len } };
		bytes += len;
	}
	return count;
}

/* In a comparison the sender says where its lists were partial: the receiver needs none. */
static size_t fill_paths(struct transfer *t, const struct choice_spec *c, struct text *paths)
{
	size_t count = 0, bytes = 0;

	while (!t->is_push && t->choice_paths_told + count < c->path_count && count < MESSAGE_RECORDS_MAX &&
	       bytes < PART_BYTES) {
		const char *path = c->paths[t->choice_paths_told + count];

		paths[count] = (struct text){ path, strlen(path) };
		bytes += paths[count++].len;
	}
	return count;
}

static haul_status tell_part(struct transfer *t, const struct choice_spec *c, bool *ret_is_last)
{
	struct choice_rule rules[MESSAGE_RULES_MAX];
	struct text paths[MESSAGE_RECORDS_MAX];
	struct message m = { .type = MSG_CHOICE };
	struct haul_fault fault = { 0 };
	size_t rule_count = fill_rules(t, c, rules);
	size_t path_count = rule_count ? 0 : fill_paths(t, c, paths);
	haul_status st;

	m.choice = (struct msg_choice){ .rules = rules,
					.rule_count = rule_count,
					.paths = paths,
					.path_count = path_count,
					.flags = transfer_choice_flags(t) | (c->has_limits ? CHOICE_LIMITS : 0u) |
						 (c->has_paths && !t->is_push ? CHOICE_LISTS : 0u),
					.size_min = c->size_min,
					.size_max = c->size_max,
					.oldest = c->oldest,
					.newest = c->newest };
	st = control_link_send(t->link, &m, &fault);
	if (haul_failed(st))
		return st;
	t->choice_rules_told += rule_count;
	t->choice_paths_told += path_count;
	*ret_is_last = t->choice_rules_told == c->rule_count && (t->is_push || t->choice_paths_told == c->path_count);
	return HAUL_OK;
}

bool transfer_tell_choice(struct transfer *t)
{
	struct choice_spec everything;
	const struct choice_spec *c = t->req->choice;
	haul_status st = HAUL_OK;
	bool is_last = false;

	choice_spec_open(&everything);
	t->choice_waits = false;
	if (!is_for_peer(t))
		return true;
	while (haul_ok(st) && !is_last)
		st = tell_part(t, c ? c : &everything, &is_last);
	t->choice_waits = st.code == HAUL_CODE_BUSY;
	if (t->choice_waits)
		return false;
	if (haul_failed(st)) {
		transfer_fault(t, st, NULL, NULL);
		transfer_leave(t);
		return false;
	}
	t->choice_is_told = true;
	return true;
}

void transfer_forget_choice(struct transfer *t)
{
	t->choice_is_told = t->choice_waits = false;
	t->choice_rules_told = t->choice_paths_told = 0;
}

void transfer_tell_missing(struct transfer *t)
{
	char shown[TRANSFER_SHOWN_MAX], text[2 * TRANSFER_SHOWN_MAX];
	const char *path;
	size_t at = 0;

	while ((path = t->sender ? sender_next_missing(t->sender, &at) : receiver_next_missing(t->receiver, &at))) {
		(void)snprintf(text, sizeof(text), "%s is listed, but not there",
			       transfer_shown(t, true, path, shown, sizeof(shown)));
		transfer_problem_at(t, HAUL_NOT_FOUND, path, text);
	}
}

void transfer_report_choice(struct transfer *t)
{
	const struct job_totals *now = transfer_totals(t);

	t->report->entries_left = now->left_entries;
	t->report->files_kept += t->req->is_move ? now->left_files : 0;
	t->report->knows_matched = t->req->choice && now->has_root;
	memcpy(t->report->rules_matched, now->rules_matched, sizeof(t->report->rules_matched));
}
