/*
 * A sync from the side of who runs it: what it must not begin with, whether the source is the one of last time, and how
 * deletions and refusals are told.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "engine/base/escape.h"
#include "engine/base/replace_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_LOOKED_AT = 200, DOOMED_TEXT_MAX = 2048 };

bool transfer_is_sync(const struct transfer *t)
{
	return t->req->deletion != TRANSFER_DELETE_NONE;
}

/* ---- the places ---- */

size_t transfer_names_of(const char *dir_path, char *ret_names[], size_t most)
{
	DIR *dir = opendir(*dir_path ? dir_path : ".");
	struct dirent *de;
	size_t count = 0;

	if (most > NAMES_LOOKED_AT)
		most = NAMES_LOOKED_AT;
	while (dir && count < most && (de = readdir(dir))) {
		if (haul_failed(haul_component_check(de->d_name, strlen(de->d_name))) || mirror_protects(de->d_name))
			continue;
		ret_names[count] = strdup(de->d_name);
		count += ret_names[count] != NULL;
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

bool transfer_may_be_meant(const struct transfer *t)
{
	return transfer_is_sync(t) && !t->req->nest && !t->req->sources[0].has_slash;
}

/* Both ends can be looked at from here. */
static void compare_local(struct transfer *t)
{
	char *names[NAMES_LOOKED_AT];
	struct stat st;
	int dir;

	if (!t->is_local || !transfer_may_be_meant(t))
		return;
	dir = open(*t->landing.root ? t->landing.root : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	t->like.names = dir < 0 ? 0 : transfer_names_of(t->sources[0].path, names, NAMES_LOOKED_AT);
	for (size_t i = 0; i < t->like.names; i++) {
		t->like.there += fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0;
		free(names[i]);
	}
	t->like.is_nested_already =
	    dir >= 0 && t->landing.landed[0].name && fstatat(dir, t->landing.landed[0].name, &st, 0) == 0;
	if (dir >= 0)
		(void)close(dir);
}

bool transfer_looks_like_itself(struct transfer *t)
{
	char name[TRANSFER_SHOWN_MAX / 4], dst[TRANSFER_SHOWN_MAX / 4], text[TRANSFER_SHOWN_MAX];
	const char *src = t->req->sources[0].text, *destination = t->req->destination->text;

	compare_local(t);
	if (!t->landing.landed[0].name || t->like.is_nested_already || t->like.there * 2 <= t->like.names)
		return false;
	haul_escape(src, strlen(src), name, sizeof(name));
	(void)snprintf(text, sizeof(text), "%s looks like %s itself: did you mean %s/ ? (--nest to go on)",
		       haul_escape(destination, strlen(destination), dst, sizeof(dst)), name, name);
	transfer_error(t, EXIT_CLASS_GUARD, HAUL_GUARD, text, NULL);
	return true;
}

bool transfer_sync_is_refused(struct transfer *t)
{
	const struct landing_place *src = &t->sources[0];
	char shown[TRANSFER_SHOWN_MAX / 2], text[TRANSFER_SHOWN_MAX];

	if (!transfer_is_sync(t))
		return false;
	if (src->kind == ENTRY_DIRECTORY || t->landing.landed[0].follow || !src->is_there || !src->kind)
		return false;
	(void)snprintf(text, sizeof(text), "%s is no directory: sync takes one",
		       haul_escape(src->text, strlen(src->text), shown, sizeof(shown)));
	transfer_error(t, EXIT_CLASS_USAGE, HAUL_NOT_DIRECTORY, text, "haul copy takes single files");
	return true;
}

/* ---- the source of last time ---- */

static int memory_dir(const struct transfer *t, bool is_made)
{
	int state = open(t->home->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), dir;

	if (state < 0)
		return -1;
	if (is_made)
		(void)mkdirat(state, "syncs", 0700);
	dir = openat(state, "syncs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	(void)close(state);
	return dir;
}

/* By the key of source and destination. */
static void memory_name(const struct transfer *t, char ret_name[2 * sizeof(t->copy_key.bytes) + 1])
{
	for (size_t i = 0; i < sizeof(t->copy_key.bytes); i++)
		(void)snprintf(ret_name + 2 * i, 3, "%02x", t->copy_key.bytes[i]);
}

static bool is_zeros(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Unknown then or now: nobody can say that it is another. */
static bool is_other_source(const struct transfer *t)
{
	char name[2 * sizeof(t->copy_key.bytes) + 1];
	uint8_t before[FILE_SYSTEM_ID_BYTES] = { 0 };
	int dir, fd;
	bool is_other = false;

	if (t->req->new_source || is_zeros(t->source_fs, sizeof(t->source_fs)))
		return false;
	memory_name(t, name);
	dir = memory_dir(t, false);
	fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		is_other = read(fd, before, sizeof(before)) == (ssize_t)sizeof(before) &&
			   memcmp(before, t->source_fs, sizeof(before)) != 0;
		(void)close(fd);
	}
	if (dir >= 0)
		(void)close(dir);
	return is_other;
}

static void remember_source(struct transfer *t)
{
	char name[2 * sizeof(t->copy_key.bytes) + 1];
	struct haul_fault fault = { 0 };
	int dir;

	if (is_zeros(t->source_fs, sizeof(t->source_fs)))
		return;
	memory_name(t, name);
	dir = memory_dir(t, true);
	if (dir < 0 || haul_failed(replace_file(dir, name, t->source_fs, sizeof(t->source_fs), &fault)))
		transfer_explain(t, "which file system the source lies on is not remembered: %s",
				 dir < 0 ? strerror(errno) : fault.text);
	if (dir >= 0)
		(void)close(dir);
}

void transfer_mirror_source(struct transfer *t, const uint8_t id[FILE_SYSTEM_ID_BYTES])
{
	if (!transfer_is_sync(t))
		return;
	memcpy(t->source_fs, id, sizeof(t->source_fs));
	t->is_other_source = is_other_source(t);
}

/* ---- the job ---- */

struct mirror_limit transfer_mirror_limit(const struct transfer *t)
{
	static const enum delete_rule rules[] = { [TRANSFER_DELETE_NONE] = DELETE_NONE,
						  [TRANSFER_DELETE_USUAL] = DELETE_USUAL,
						  [TRANSFER_DELETE_COUNT] = DELETE_COUNT,
						  [TRANSFER_DELETE_PERCENT] = DELETE_PERCENT,
						  [TRANSFER_DELETE_ANY] = DELETE_ANY };

	if (t->is_other_source) /* none may go: the other end refuses, and says how many there are */
		return (struct mirror_limit){ DELETE_COUNT, 0 };
	return (struct mirror_limit){ rules[t->req->deletion], t->req->delete_most };
}

void transfer_mirror_setup(const struct transfer *t, struct receiver_mirror *ret)
{
	*ret = (struct receiver_mirror){ .asked = transfer_mirror_limit(t),
					 .home = t->home,
					 .covers_root = !t->landing.landed[0].name,
					 .is_other_source = t->is_other_source };
}

/* The first ones are named in the line that says why they stay. */
static void note_refused(struct transfer *t, const char *path)
{
	char shown[TRANSFER_SHOWN_MAX / 4];
	size_t used;

	if (t->doomed_count >= MIRROR_TOLD_WHEN_REFUSED)
		return;
	if (!t->doomed)
		t->doomed = calloc(1, DOOMED_TEXT_MAX);
	if (!t->doomed)
		return;
	used = strlen(t->doomed);
	(void)snprintf(t->doomed + used, DOOMED_TEXT_MAX - used, "%s%s", t->doomed_count++ ? ", " : "",
		       haul_escape(path, strlen(path), shown, sizeof(shown)));
}

static void tell_stays(struct transfer *t, const struct job_entry *e)
{
	char shown[TRANSFER_SHOWN_MAX], text[2 * TRANSFER_SHOWN_MAX];

	(void)snprintf(text, sizeof(text), "%s stays: %s", transfer_shown(t, false, e->path, shown, sizeof(shown)),
		       haul_status_text(e->code));
	transfer_error(t, EXIT_CLASS_ENTRIES, e->code, text, NULL);
}

void transfer_mirror_entry(struct transfer *t, const struct job_entry *e)
{
	size_t len = strlen(e->path);
	const struct transfer_entry te = { .path = e->path,
					   .kind = len && e->path[len - 1] == '/' ? ENTRY_DIRECTORY : ENTRY_FILE,
					   .outcome = OUTCOME_UNCHANGED,
					   .changes = e->changes };

	if (e->code.code == HAUL_CODE_GUARD)
		note_refused(t, e->path);
	else if (haul_failed(e->code))
		tell_stays(t, e);
	else if (t->req->want_entries && t->obs->on_entry)
		t->obs->on_entry(t->obs->ctx, &te);
}

static const char *why(const struct transfer *t, enum delete_refusal refusal)
{
	if (t->is_other_source && refusal != DELETE_EMPTY_SOURCE)
		return "the source lies on another file system than last time";
	switch (refusal) {
	case DELETE_TOO_MANY_HERE:
		return "the destination's guard lets fewer go";
	case DELETE_EMPTY_SOURCE:
		return "the source is empty";
	case DELETE_BLIND:
		return "a directory could not be read whole";
	case DELETE_TROUBLED:
		return "not everything could be written at the destination";
	case DELETE_ALLOWED:
	case DELETE_TOO_MANY:
	case DELETE_OTHER_SOURCE:
		break;
	}
	return "that is more than go without being asked for";
}

static const char *cure(const struct transfer *t, const struct mirror_totals *m, char *ret_text, size_t cap)
{
	if (t->is_other_source && m->refusal != DELETE_EMPTY_SOURCE) {
		(void)snprintf(ret_text, cap, "If it is the right one: the same command with --new-source");
		return ret_text;
	}
	switch (m->refusal) {
	case DELETE_TOO_MANY:
		(void)snprintf(ret_text, cap, "If that is right: the same command with --max-delete=%llu",
			       (unsigned long long)m->surplus);
		return ret_text;
	case DELETE_EMPTY_SOURCE:
		(void)snprintf(ret_text, cap, "Is it mounted? What really is to go: haul remove, at the destination");
		return ret_text;
	case DELETE_BLIND:
		return "Make it readable, or leave it out with --exclude";
	case DELETE_TROUBLED:
		return "Make room, or see to the disk, and run the same command again";
	case DELETE_TOO_MANY_HERE:
	case DELETE_ALLOWED:
	case DELETE_OTHER_SOURCE:
		break;
	}
	return NULL;
}

static void tell_refused(struct transfer *t, const struct mirror_totals *m)
{
	char raw[TRANSFER_SHOWN_MAX], shown[TRANSFER_SHOWN_MAX], text[DOOMED_TEXT_MAX + 3 * TRANSFER_SHOWN_MAX];
	char remedy[160], more[48] = "";
	const char *root = t->landing.root ? t->landing.root : "";

	transfer_place(t->is_push ? t->req->destination : NULL, *root || t->is_push ? root : ".", raw, sizeof(raw));
	haul_escape(raw, strlen(raw), shown, sizeof(shown));
	if (m->surplus > t->doomed_count)
		(void)snprintf(more, sizeof(more), " and more");
	(void)snprintf(
	    text, sizeof(text),
	    "%s: %llu of %llu entries there are not in the source, and nothing was deleted, because %s (%s%s)", shown,
	    (unsigned long long)m->surplus, (unsigned long long)m->there, why(t, m->refusal),
	    t->doomed ? t->doomed : "", more);
	transfer_error(t, EXIT_CLASS_GUARD, HAUL_GUARD, text, cure(t, m, remedy, sizeof(remedy)));
}

void transfer_mirror_end(struct transfer *t)
{
	const struct mirror_totals *m = &transfer_totals(t)->mirror;

	if (!transfer_is_sync(t))
		return;
	t->report->entries_deleted = t->req->dry_run && !m->refusal ? m->surplus : m->deleted;
	t->report->files_deleted = m->deleted_files;
	if (m->refusal != DELETE_ALLOWED)
		tell_refused(t, m);
	else if (t->report->is_durable && !t->req->dry_run)
		remember_source(t);
}
