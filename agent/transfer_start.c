/*
 * From facts to a running job: decide the landing, see which of its names exist, tell it, send JOB, and with ACCEPT
 * start our end and its lanes.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "certs/rights.h"
#include "engine/attribute_read.h"
#include "engine/base/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCAL_SHARE "here" /* what JOB says where both ends are one process: the message wants a name */

static char *join(const char *dir, const char *name)
{
	char *path = NULL;

	if (!*dir)
		return strdup(name);
	return asprintf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name) < 0 ? NULL : path;
}

/* ---- verify: what may have been meant ---- */

static bool suggested(struct transfer *t)
{
	char raw[TRANSFER_SHOWN_MAX], meant[TRANSFER_SHOWN_MAX], typed[TRANSFER_SHOWN_MAX / 4];
	char from[TRANSFER_SHOWN_MAX / 4], text[2 * TRANSFER_SHOWN_MAX];
	const char *dst = t->req->destination->text, *src = t->sources[0].text;

	if (!t->suggestion)
		return false;
	transfer_place(t->req->destination, t->suggestion, raw, sizeof(raw));
	haul_escape(raw, strlen(raw), meant, sizeof(meant));
	haul_escape(dst, strlen(dst), typed, sizeof(typed));
	haul_escape(src, strlen(src), from, sizeof(from));
	if (t->sources[0].kind == ENTRY_DIRECTORY)
		(void)snprintf(text, sizeof(text), "%s has nothing of what %s has: did you mean %s ?", typed, from,
			       meant);
	else
		(void)snprintf(text, sizeof(text), "%s is a directory, %s is none: did you mean %s ?", typed, from,
			       meant);
	transfer_error(t, EXIT_CLASS_NO_SOURCE, HAUL_NOT_FOUND, text, NULL);
	return true;
}

/* What is at the destination is not for us to see: LOOKUP answers "denied" below the top of the share. */
static bool is_hidden(const struct transfer *t)
{
	return t->is_push && !(t->rights & (RIGHT_LIST | RIGHT_READ));
}

static bool nothing_to_compare(struct transfer *t)
{
	char typed[TRANSFER_SHOWN_MAX / 2], text[TRANSFER_SHOWN_MAX];
	const char *dst = t->req->destination->text;

	if (t->req->verb != TRANSFER_VERIFY || t->destination.is_there || t->landing.landed[0].name)
		return false;
	if (is_hidden(t))
		return false; /* it could not be seen: the answer to JOB says which right is missing */
	(void)snprintf(text, sizeof(text), "%s: nothing is there to compare with",
		       haul_escape(dst, strlen(dst), typed, sizeof(typed)));
	transfer_error(t, EXIT_CLASS_DIFFERENT, HAUL_NOT_FOUND, text, NULL);
	return true;
}

/* ---- landing ---- */

/* A sync: the source's names, at the destination. */
static size_t add_likeness(struct transfer *t, struct text *paths, char **strings, size_t count)
{
	char *names[MESSAGE_SOURCES_MAX];
	size_t more = transfer_names_of(t->sources[0].path, names, MESSAGE_SOURCES_MAX - count);

	for (size_t i = 0; i < more; i++) {
		strings[count] = join(t->landing.root, names[i]);
		free(names[i]);
		if (!strings[count])
			continue;
		paths[count] = (struct text){ strings[count], strlen(strings[count]) };
		count++;
		t->like.names++;
	}
	return count;
}

/* The answers to the last t->like.names of them. */
static void note_likeness(struct transfer *t, const struct msg_found *m)
{
	for (size_t i = m->found_count - t->like.names; i < m->found_count; i++)
		t->like.there += m->found[i].state == FOUND_THERE;
	t->like.is_nested_already = m->found_count > t->like.names + 1 && m->found[1].state == FOUND_THERE;
}

void transfer_ask_names(struct transfer *t)
{
	struct text paths[MESSAGE_SOURCES_MAX];
	char *strings[MESSAGE_SOURCES_MAX];
	struct message m = { .type = MSG_LOOKUP };
	size_t count = 0;

	strings[count] = strdup(t->landing.root);
	for (size_t i = 0; strings[count] && i < t->landing.count && count + 1 < MESSAGE_SOURCES_MAX; i++) {
		const char *name = t->landing.landed[i].name;

		paths[count] = (struct text){ strings[count], strlen(strings[count]) };
		count++;
		strings[count] = name ? join(t->landing.root, name) : strdup(t->landing.root);
	}
	if (strings[count]) {
		paths[count] = (struct text){ strings[count], strlen(strings[count]) };
		count++;
	}
	if (transfer_may_be_meant(t))
		count = add_likeness(t, paths, strings, count);
	m.lookup = (struct msg_lookup){ .share = { t->remote->share, strlen(t->remote->share) },
					.paths = paths,
					.path_count = count };
	t->state = TRANSFER_NAMING;
	transfer_ask(t, &m);
	while (count)
		free(strings[--count]);
}

static void tell_landings(struct transfer *t, const bool *is_there, size_t known)
{
	struct transfer_landing *l = calloc(t->landing.count, sizeof(*l));
	char(*shown)[TRANSFER_SHOWN_MAX] = calloc(t->landing.count, sizeof(*shown));
	char root[TRANSFER_SHOWN_MAX];

	for (size_t i = 0; l && shown && i < t->landing.count; i++) {
		const struct landed *at = &t->landing.landed[i];
		char *path = at->name ? join(t->landing.root, at->name) : strdup(t->landing.root);

		transfer_place(t->is_push ? t->req->destination : NULL, path ? path : "", shown[i], sizeof(shown[i]));
		l[i] = (struct transfer_landing){ .source = t->sources[i].text,
						  .destination = *shown[i] ? shown[i] : ".",
						  .is_new = i < known && !is_there[i],
						  .is_hidden = is_hidden(t) && path && *path,
						  .is_contents = !at->name && t->req->verb == TRANSFER_COPY,
						  .is_link = at->is_link };
		free(path);
		if (!t->root_is_there && !l[i].is_hidden && i == 0 && at->name)
			l[i].made_parents = transfer_place(t->is_push ? t->req->destination : NULL, t->landing.root,
							   root, sizeof(root));
	}
	if (l && shown && t->obs->on_landing)
		t->obs->on_landing(t->obs->ctx, l, t->landing.count);
	free(l);
	free(shown);
}

enum root_rule transfer_root_rule(const struct transfer *t)
{
	if (t->req->verb != TRANSFER_COPY || t->req->is_move || t->landing.count != 1 || t->landing.landed[0].name)
		return ROOT_AS_IT_IS;
	if (!t->root_is_there)
		return ROOT_IS_NEW;
	return transfer_is_sync(t) && (!t->is_push || t->is_local || *t->landing.root) ? ROOT_FOLLOWS : ROOT_AS_IT_IS;
}

/* A job that was accepted and comes again goes on with what its own first attempt has left. */
static uint32_t job_flags(const struct transfer *t)
{
	const struct transfer_request *req = t->req;

	return (req->dry_run ? JOB_DRY_RUN : 0u) | (req->checksum ? JOB_CHECKSUM : 0u) |
	       (req->no_sync ? JOB_NO_SYNC : 0u) | (req->follow_links ? JOB_FOLLOW_LINKS : 0u) |
	       (req->exact ? JOB_EXACT : 0u) | (req->restart && !t->again.was_accepted ? JOB_RESTART : 0u) |
	       (req->no_attributes ? JOB_NO_ATTRIBUTES : 0u) | (req->no_owners ? JOB_NO_OWNERS : 0u) |
	       (req->numeric_ids ? JOB_NUMERIC_IDS : 0u) | (req->sparse ? JOB_SPARSE : 0u) |
	       (req->in_place ? JOB_INPLACE : 0u) | (transfer_is_far_move(t) ? JOB_MOVE : 0u) |
	       (transfer_root_rule(t) != ROOT_AS_IT_IS ? JOB_ROOT_TOO : 0u) |
	       (req->no_replace && t->is_push && !t->is_local ? JOB_NO_REPLACE : 0u);
}

/* Before JOB says how much may be deleted. */
static void look_at_source_fs(struct transfer *t)
{
	uint8_t id[FILE_SYSTEM_ID_BYTES];
	int fd = open(*t->sources[0].path ? t->sources[0].path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)file_system_id(fd, id);
	transfer_mirror_source(t, id);
	if (fd >= 0)
		(void)close(fd);
}

void transfer_send_job(struct transfer *t)
{
	struct job_source sources[MESSAGE_SOURCES_MAX];
	struct message m = { .type = MSG_JOB };
	const char *share = t->is_local ? LOCAL_SHARE : t->remote->share;

	if (!transfer_tell_choice(t))
		return; /* on_writable comes back here */
	if (t->is_push && transfer_is_sync(t))
		look_at_source_fs(t);
	m.job = (struct msg_job){ .verb = t->req->verb == TRANSFER_VERIFY ? JOB_VERIFY : JOB_COPY,
				  .direction = t->is_push ? JOB_PUSH : JOB_PULL,
				  .flags = job_flags(t),
				  .share = { share, strlen(share) },
				  .modify_window_ns = (uint64_t)(t->req->modify_window_s * 1e9),
				  .delete_rule = transfer_mirror_limit(t).rule,
				  .delete_most = transfer_mirror_limit(t).most,
				  .deletes_at_root = transfer_mirror_limit(t).rule && !t->landing.landed[0].name };
	transfer_look_device(t);
	transfer_wish(t, &m.job);
	t->wished_lanes = m.job.lanes;
	t->wished_more_lanes = m.job.more_lanes;
	t->wished_block_bytes = m.job.block_bytes;
	memcpy(m.job.job_id, t->job_id, sizeof(m.job.job_id));
	if (t->is_push && !t->is_local)
		m.job.root = (struct text){ t->landing.root, strlen(t->landing.root) };
	for (size_t i = 0; !t->is_push && i < t->source_count; i++) {
		const struct landed *at = &t->landing.landed[i];

		sources[i] = (struct job_source){ .path = { t->sources[i].path, strlen(t->sources[i].path) },
						  .landing = { at->name, at->name ? strlen(at->name) : 0 },
						  .follow = at->follow };
		m.job.sources = sources;
		m.job.source_count = t->source_count;
	}
	t->state = TRANSFER_STARTING;
	transfer_ask(t, &m);
}

/* Landing names that lie here. */
static void look_names(struct transfer *t)
{
	bool *is_there = calloc(t->landing.count, sizeof(*is_there));
	struct stat st;

	t->root_is_there = stat(*t->landing.root ? t->landing.root : ".", &st) == 0;
	for (size_t i = 0; is_there && i < t->landing.count; i++) {
		char *path = t->landing.landed[i].name ? join(t->landing.root, t->landing.landed[i].name) : NULL;

		is_there[i] = path ? lstat(path, &st) == 0 : t->root_is_there;
		free(path);
	}
	tell_landings(t, is_there, is_there ? t->landing.count : 0);
	free(is_there);
}

void transfer_land(struct transfer *t)
{
	const struct landing_request req = { .sources = t->sources,
					     .source_count = t->source_count,
					     .is_several = t->req->is_several || t->req->source_count > 1,
					     .destination = &t->destination,
					     .as_name = t->req->as_name,
					     .follow_links = t->req->follow_links,
					     .is_verify = t->req->verb == TRANSFER_VERIFY };
	struct haul_fault fault = { 0 };
	haul_status st = landing_decide(&req, &t->landing, &fault);

	if (haul_failed(st)) {
		transfer_error(t, st.code == HAUL_CODE_USAGE ? EXIT_CLASS_USAGE : exit_class_of(st), st,
			       fault.text[0] ? fault.text : haul_status_text(st), NULL);
		transfer_leave(t);
		return;
	}
	if (transfer_sync_is_refused(t) || suggested(t) || nothing_to_compare(t) ||
	    (t->is_local && transfer_is_onto_itself(t)) || !transfer_guards_shares(t) || !transfer_once(t)) {
		transfer_leave(t);
		return;
	}
	if (t->is_push && !t->is_local) {
		transfer_ask_names(t);
		return;
	}
	if (transfer_looks_like_itself(t)) {
		transfer_leave(t);
		return;
	}
	look_names(t);
	if (t->is_local)
		transfer_local_open(t);
	else
		transfer_send_job(t);
}

void transfer_named(struct transfer *t, const struct msg_found *m)
{
	bool is_there[MESSAGE_SOURCES_MAX];
	size_t known = m->found_count > t->like.names ? m->found_count - t->like.names - 1 : 0;

	t->root_is_there = m->found_count && m->found[0].state == FOUND_THERE;
	if (!*t->landing.root)
		t->root_is_there = true;
	for (size_t i = 0; i < known; i++)
		is_there[i] = m->found[i + 1].state != FOUND_MISSING;
	if (t->like.names && m->found_count > t->like.names)
		note_likeness(t, m);
	if (transfer_looks_like_itself(t)) {
		transfer_leave(t);
		return;
	}
	tell_landings(t, is_there, known);
	transfer_send_job(t);
}

/* ---- our end of the job ---- */

static haul_status open_source(struct transfer *t, size_t i, struct haul_fault *fault)
{
	const struct landing_place *p = &t->sources[i];
	const struct landed *at = &t->landing.landed[i];
	struct scan_source *s = &t->scan_sources[t->scan_source_count];
	bool is_directory = p->kind == ENTRY_DIRECTORY || at->follow;
	char shown[HAUL_FAULT_TEXT_MAX / 2];
	size_t len;
	const char *base = landing_base_name(p->path, &len);
	char *dir = is_directory ? strdup(p->path) : strndup(p->path, (size_t)(base - p->path));

	if (!dir)
		return HAUL_NO_MEMORY;
	s->root_fd = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(dir);
	if (s->root_fd < 0)
		return haul_fault_errno(fault, errno, "%s",
					haul_escape(p->text, strlen(p->text), shown, sizeof(shown)));
	t->scan_places[t->scan_source_count++] = i;
	s->path = is_directory ? strdup("") : strndup(base, len);
	s->landing = at->name ? strdup(at->name) : NULL;
	s->links = t->req->follow_links ? LINKS_FOLLOWED_ANYWHERE : LINKS_KEPT;
	return s->path && (s->landing || !at->name) ? HAUL_OK : HAUL_NO_MEMORY;
}

/* Sources that cannot be opened are told and left out; none left: exit 2. */
haul_status transfer_open_sources(struct transfer *t)
{
	t->scan_sources = calloc(t->source_count, sizeof(*t->scan_sources));
	t->scan_places = calloc(t->source_count, sizeof(*t->scan_places));
	if (!t->scan_sources || !t->scan_places)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < t->source_count; i++) {
		struct haul_fault fault = { 0 };
		haul_status st = open_source(t, i, &fault);

		if (st.code == HAUL_CODE_NO_MEMORY)
			return st;
		if (haul_failed(st))
			transfer_error(t, t->source_count == 1 ? EXIT_CLASS_NO_SOURCE : EXIT_CLASS_ENTRIES, st,
				       fault.text, NULL);
	}
	return t->scan_source_count ? transfer_choose_tops(t) : HAUL_CANCELLED;
}

static haul_status make_path(const char *path, struct haul_fault *fault)
{
	char *copy = strdup(path), shown[HAUL_FAULT_TEXT_MAX / 2];
	haul_status st = copy ? HAUL_OK : HAUL_NO_MEMORY;

	for (char *at = copy; haul_ok(st) && at && *at; at++) {
		char *slash = strchr(at + 1, '/');

		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0777) && errno != EEXIST)
			st =
			    haul_fault_errno(fault, errno, "%s", haul_escape(copy, strlen(copy), shown, sizeof(shown)));
		if (!slash)
			break;
		*slash = '/';
		at = slash;
	}
	free(copy);
	return st;
}

haul_status transfer_open_destination(struct transfer *t, struct haul_fault *fault)
{
	bool is_writing = t->req->verb == TRANSFER_COPY && !t->req->dry_run;
	const char *root = *t->landing.root ? t->landing.root : ".";
	char shown[HAUL_FAULT_TEXT_MAX / 2];
	haul_status st = HAUL_OK;

	if (is_writing && !t->root_is_there)
		st = make_path(root, fault);
	if (haul_failed(st))
		return st;
	t->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->root_fd >= 0 || (errno == ENOENT && !is_writing))
		return HAUL_OK;
	return haul_fault_errno(fault, errno, "%s", haul_escape(root, strlen(root), shown, sizeof(shown)));
}

static void on_job_end(void *ctx, haul_status st, const struct haul_fault *fault)
{
	struct transfer *t = ctx;
	const struct haul_fault *broken = t->link ? control_link_failure(t->link) : NULL;

	if (broken && st.code == HAUL_CODE_LOST) {
		/* A peer that broke a rule closes its lanes on hearing so: the rule is what the user is told. */
		st = broken->status;
		fault = broken;
	}
	if (haul_failed(st) && transfer_again(t, st, fault))
		return;
	if (haul_failed(st) && !t->was_refused && !t->report->signal_number)
		transfer_fault(t, st, fault, NULL);
	t->report->is_durable = haul_ok(st) && transfer_totals(t)->is_durable;
	if (haul_ok(st))
		transfer_check_moved(t);
	transfer_tell_lack(t);
	transfer_mirror_end(t);
	if (haul_ok(st))
		transfer_tell_missing(t);
	t->own_end_is_over = true;
	if (t->is_local)
		transfer_local_other_ended(t, st, fault);
	transfer_close_job(t);
}

static void on_explain(void *ctx, const char *text)
{
	transfer_explain(ctx, "%s", text);
}

/* HAUL_LANE_RECORDS makes it smaller, for tests of the retirement of lanes; never larger. */
static uint64_t records_max(void)
{
	const char *asked = getenv("HAUL_LANE_RECORDS");
	unsigned long long n = asked ? strtoull(asked, NULL, 10) : 0;

	return n && n < LANE_RECORDS_MAX ? n : LANE_RECORDS_MAX;
}

void transfer_fill_config(struct transfer *t, const struct msg_accept *m, struct job_config *cfg)
{
	t->limit.bytes_per_s = t->req->bandwidth_bytes_per_s;
	block_budget_open(&t->budget, POLICY_BUDGET_BYTES);
	*cfg = (struct job_config){
		.loop = &t->loop,
		.mailbox = &t->mailbox,
		.link = t->link,
		.verb = t->req->verb == TRANSFER_VERIFY ? JOB_VERIFY : JOB_COPY,
		.flags = job_flags(t),
		.modify_window_ns = (uint64_t)(t->req->modify_window_s * 1e9),
		.attribute_kinds = t->req->no_attributes ? 0 : attribute_kinds_of_process(),
		.choice = t->req->choice,
		.choice_flags = transfer_choice_flags(t),
		.lanes = m->lanes,
		.lanes_most = m->lanes + m->more_lanes,
		.renews_lanes = true,
		.lane = { .is_client = true,
			  .block_bytes = m->block_bytes,
			  .backend = engine_backend_of(t->req->backend),
			  .budget = &t->budget,
			  .limit = &t->limit,
			  .trace = t->trace,
			  .records_max = records_max(),
			  .tls = t->tls,
			  .address = t->address,
			  .connect_timeout_ms = t->req->connect_timeout_ms },
		.scratch_dir = t->home->state_dir,
		.move_tops = t->move_tops,
		.cb = { .on_entry = transfer_on_entry,
			.on_problem = transfer_on_problem,
			.on_kept = transfer_on_kept,
			.on_explain = on_explain,
			.on_lane_lost = transfer_on_lane_lost,
			.on_lane_vacant = transfer_on_lane_vacant,
			.on_end = on_job_end },
		.ctx = t,
	};
	job_follow_policy(cfg, &t->policy, t->is_push);
	memcpy(cfg->lane.session_id, m->session_id, sizeof(m->session_id));
	memcpy(cfg->lane.peer_id, t->device_id, sizeof(t->device_id));
}

static haul_status make_end(struct transfer *t, const struct msg_accept *m, struct haul_fault *fault)
{
	uint64_t rights = t->req->no_replace ? UINT64_MAX & ~RIGHT_OVERWRITE : UINT64_MAX;
	struct receiver_config cfg = { .rights = rights, .owner = OWNER_NONE, .umask = UINT32_MAX };
	haul_status st;

	cfg.peer_id = t->device_id;
	if (!t->is_push)
		transfer_mirror_source(t, m->source_fs);
	transfer_mirror_setup(t, &cfg.mirror);
	if (t->is_push) {
		st = t->scan_sources ? HAUL_OK : transfer_open_sources(t);
		transfer_fill_config(t, m, &cfg.job);
		return haul_failed(st) ? st
				       : sender_new(&cfg.job, t->scan_sources, t->scan_source_count, &t->sender, fault);
	}
	transfer_fill_config(t, m, &cfg.job);
	st = transfer_open_destination(t, fault);
	cfg.root_fd = cfg.private_fd = t->root_fd;
	cfg.root_rule = transfer_root_rule(t);
	return haul_failed(st) ? st : receiver_new(&cfg, &t->receiver, fault);
}

static bool is_acceptable(const struct transfer *t, const struct msg_accept *m)
{
	return m->lanes >= 1 && m->lanes <= t->wished_lanes &&
	       m->lanes + m->more_lanes <= t->wished_lanes + t->wished_more_lanes &&
	       m->block_bytes >= HAUL_LEAF_BYTES && m->block_bytes <= t->wished_block_bytes;
}

void transfer_accepted(struct transfer *t, const struct msg_accept *m)
{
	struct haul_fault fault = { 0 };
	struct lane_set *lanes;
	haul_status st;

	if (!is_acceptable(t, m)) {
		transfer_fault(t, HAUL_BAD_FRAME, NULL, NULL);
		transfer_leave(t);
		return;
	}
	transfer_agree(t, m);
	st = make_end(t, m, &fault);
	if (haul_failed(st)) {
		if (st.code != HAUL_CODE_CANCELLED)
			transfer_fault(t, st, &fault, NULL);
		transfer_leave(t);
		return;
	}
	transfer_joined(t);
	transfer_explain_policy(t);
	t->state = TRANSFER_RUNNING;
	t->job_runs = true;
	t->moved_ns = uv_hrtime();
	if (t->receiver)
		receiver_begin(t->receiver);
	lanes = t->sender ? sender_lanes(t->sender) : receiver_lanes(t->receiver);
	lanes->ahead = t->ahead;
	st = t->is_local ? transfer_local_start_lanes(t, &fault) : lane_set_start(lanes, &fault);
	if (haul_ok(st) && !t->is_local)
		transfer_lanes_start(t);
	if (t->ahead)
		lanes_ahead_drop(t->ahead);
	if (haul_failed(st) && t->sender)
		sender_stop(t->sender, st, &fault);
	else if (haul_failed(st))
		receiver_stop(t->receiver, st, &fault);
}
