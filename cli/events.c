#include "cli/events.h"

#include "cli/changes.h"
#include "cli/summary.h"

#include <string.h>

enum { SCHEMA = 1 };

static void landing_item(struct json *j, const struct transfer_landing *l)
{
	json_object(j);
	json_path(j, "source", l->source, strlen(l->source));
	json_path(j, "destination", l->destination, strlen(l->destination));
	if (l->is_hidden)
		json_text(j, "new", NULL);
	else
		json_bool(j, "new", l->is_new);
	json_bool(j, "contents", l->is_contents);
	json_bool(j, "link", l->is_link);
	json_text(j, "made_parents", l->made_parents);
	json_object_end(j);
}

void event_start(struct console *c, const char *verb, const char *environment, const struct transfer_landing *landings,
		 size_t count)
{
	struct json j;

	if (!c->is_json)
		return;
	json_open(&j, c->out, "start");
	json_uint(&j, "schema", SCHEMA);
	json_text(&j, "verb", verb);
	json_text(&j, "environment", environment && *environment ? environment : NULL);
	json_list(&j, "landing");
	for (size_t i = 0; i < count; i++)
		landing_item(&j, &landings[i]);
	json_list_end(&j);
	json_close(&j);
}

void event_progress(struct console *c, const struct transfer_progress *p)
{
	struct json j;

	if (!c->is_json)
		return;
	json_open(&j, c->out, "progress");
	json_uint(&j, "files_done", p->files_done);
	json_uint(&j, "files_total", p->files_total);
	json_uint(&j, "bytes_done", p->bytes_done);
	json_uint(&j, "bytes_total", p->bytes_total);
	json_uint(&j, "bytes_sent", p->bytes_sent);
	json_bool(&j, "totals_final", p->totals_final);
	json_real(&j, "elapsed_s", p->elapsed_s);
	json_real(&j, "rate_bytes_per_s", p->rate_bytes_per_s);
	json_close(&j);
}

void event_reconnected(struct console *c, unsigned count, double after_s)
{
	struct json j;

	if (!c->is_json)
		return;
	json_open(&j, c->out, "reconnected");
	json_uint(&j, "count", count);
	json_real(&j, "after_s", after_s);
	json_close(&j);
}

static const char *outcome_text(enum entry_outcome outcome)
{
	switch (outcome) {
	case OUTCOME_PROVEN:
		return "proven";
	case OUTCOME_UNCHANGED:
		return "unchanged";
	case OUTCOME_FAILED:
		return "failed";
	}
	return "unknown";
}

static void change_items(struct json *j, uint32_t changes)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} words[] = {
		{ TRANSFER_CREATED, "created" },
		{ TRANSFER_CONTENT, "content" },
		{ TRANSFER_SIZE, "size" },
		{ TRANSFER_TIME, "time" },
		{ TRANSFER_MODE, "mode" },
		{ TRANSFER_KIND, "kind" },
		{ TRANSFER_SURPLUS, "surplus" },
		{ TRANSFER_MISSING, "missing" },
		{ TRANSFER_DELETED, "deleted" },
		{ TRANSFER_OWNER, "owner" },
		{ TRANSFER_GROUP, "group" },
		{ TRANSFER_ACL, "acl" },
		{ TRANSFER_ATTRIBUTES, "attributes" },
	};

	json_list(j, "changes");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (changes & words[i].bit)
			json_text(j, NULL, words[i].word);
	json_list_end(j);
}

void event_file(struct console *c, const struct transfer_entry *e)
{
	struct json j;

	if (!c->is_json)
		return;
	json_open(&j, c->out, "file");
	json_path(&j, "path", e->path, strlen(e->path));
	json_text(&j, "kind", entry_kind_text(e->kind));
	json_uint(&j, "size", e->size);
	json_text(&j, "outcome",
		  e->changes & TRANSFER_DELETED   ? "deleted"
		  : e->changes & TRANSFER_SURPLUS ? "surplus"
		  : e->is_cloned                  ? "cloned"
						  : outcome_text(e->outcome));
	change_items(&j, e->changes);
	if (e->has_offset)
		json_uint(&j, "offset", e->offset);
	json_close(&j);
}

/* What happened to one entry here; `to` NULL: it went nowhere. */
static void changed(struct console *c, const char *path, const char *to, enum entry_kind kind, const char *change)
{
	struct json j;

	if (!c->is_json)
		return;
	json_open(&j, c->out, "file");
	json_path(&j, "path", path, strlen(path));
	if (to)
		json_path(&j, "destination", to, strlen(to));
	json_text(&j, "kind", entry_kind_text(kind));
	json_list(&j, "changes");
	json_text(&j, NULL, change);
	json_list_end(&j);
	json_close(&j);
}

void event_deleted(struct console *c, const char *path, enum entry_kind kind)
{
	changed(c, path, NULL, kind, "deleted");
}

void event_moved(struct console *c, const char *from, const char *to, enum entry_kind kind)
{
	changed(c, from, to, kind, "renamed");
}

static void done_files(struct json *j, const struct transfer_report *r)
{
	json_uint(j, "files_total", r->files_total);
	json_uint(j, "files_sent", r->files_sent);
	json_uint(j, "files_cloned", r->files_cloned);
	json_uint(j, "files_skipped", r->files_skipped);
	json_uint(j, "files_deleted", r->files_deleted);
	json_uint(j, "entries_deleted", r->entries_deleted);
	json_uint(j, "entries_renamed", r->entries_renamed);
	json_uint(j, "files_stayed", r->files_stayed);
	json_uint(j, "files_kept", r->files_kept);
	json_uint(j, "entries_left", r->entries_left);
	json_uint(j, "files_failed", r->files_failed);
	json_uint(j, "entries_total", r->entries_total);
	json_uint(j, "bytes_total", r->bytes_total);
	json_uint(j, "bytes_sent", r->bytes_sent);
	json_uint(j, "bytes_reused", r->bytes_reused);
	json_uint(j, "bytes_resumed", r->bytes_resumed);
	json_uint(j, "files_sent_again", r->files_sent_again);
}

static void done_proof(struct json *j, const struct transfer_report *r)
{
	if (summary_verified(r))
		json_text(j, "verified", summary_verified(r));
	else
		json_bool(j, "verified", false);
	json_uint(j, "files_verified_transfer", r->files_verified_transfer);
	json_uint(j, "files_verified_disk", r->files_verified_disk);
	json_uint(j, "files_unread", r->files_unread);
	json_uint(j, "files_equal", r->files_equal);
	json_uint(j, "files_different", r->files_different);
	json_uint(j, "files_missing", r->files_missing);
	json_uint(j, "files_surplus", r->files_surplus);
	json_uint(j, "meta_different", r->meta_different);
	json_bool(j, "durable", r->is_durable);
}

void event_done(struct console *c, const struct transfer_report *r)
{
	char root[2 * HAUL_DIGEST_BYTES + 1];
	struct json j;

	if (!c->is_json)
		return;
	for (size_t i = 0; i < HAUL_DIGEST_BYTES; i++)
		(void)snprintf(root + 2 * i, 3, "%02x", r->job_root.bytes[i]);
	json_open(&j, c->out, "done");
	json_int(&j, "exit", r->exit_code);
	json_list(&j, "reasons");
	for (size_t i = 0; i < r->reason_count && i < TRANSFER_REASONS_MAX; i++)
		json_int(&j, NULL, r->reasons[i]);
	json_list_end(&j);
	done_files(&j, r);
	json_real(&j, "elapsed_s", r->elapsed_s);
	json_real(&j, "rate_bytes_per_s", summary_rate(r));
	json_uint(&j, "lanes", r->lanes);
	done_proof(&j, r);
	json_text(&j, "job_root", r->has_root ? root : NULL);
	json_text(&j, "limited_by", summary_limit_word(r->limited_by));
	json_real(&j, "cpu_s", r->cpu_s);
	json_real(&j, "peer_cpu_s", r->peer_cpu_s);
	json_bool(&j, "dry_run", r->is_dry_run);
	json_close(&j);
}

void event_done_plain(struct console *c, int exit_code)
{
	struct transfer_report r = { .exit_code = exit_code };

	if (exit_code) {
		r.reasons[0] = exit_code;
		r.reason_count = 1;
	}
	event_done(c, &r);
}
