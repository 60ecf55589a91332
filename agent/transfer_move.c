/*
 * A move whose other end is another machine's, as far as it differs from a copy: what a run before has left aside is
 * put back first, what stays at the source is told, and an attempt that had begun to delete is not forgotten by the
 * next: what is gone then was moved.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "agent/share_guard.h"
#include "engine/aside.h"
#include "engine/base/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool transfer_is_far_move(const struct transfer *t)
{
	return t->req->is_move && !t->is_local;
}

static void restore_beside(const char *path)
{
	size_t len;
	const char *base = landing_base_name(path, &len);
	char *dir = strndup(path, (size_t)(base - path));
	int fd = dir ? open(*dir ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)aside_restore(fd);
		(void)close(fd);
	}
	free(dir);
}

void transfer_restore_aside(const struct transfer *t)
{
	struct stat st;

	if (!transfer_is_far_move(t) || !t->is_push || t->req->dry_run)
		return;
	for (size_t i = 0; i < t->req->source_count; i++) {
		const char *path = t->req->sources[i].path;

		if (lstat(path, &st) && errno == ENOENT)
			restore_beside(path);
	}
}

/* Nothing is moved that is, or holds, a share of this home. */
static bool guard_source(struct transfer *t, const struct share_list *shares, size_t i)
{
	const struct landing_place *p = &t->sources[i];
	const struct landed *at = &t->landing.landed[i];
	struct haul_fault fault = { 0 };
	haul_status st;
	int fd;

	if (p->kind != ENTRY_DIRECTORY && !at->follow)
		return true;
	fd = open(p->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return true; /* told when it is to be read */
	st = share_guard_check(shares, fd, NULL, !at->name, p->text, &fault);
	(void)close(fd);
	if (haul_failed(st))
		transfer_error(t, EXIT_CLASS_GUARD, st, fault.text, NULL);
	return haul_ok(st);
}

bool transfer_guards_shares(struct transfer *t)
{
	struct haul_fault fault = { 0 };
	struct share_list shares;
	bool is_fine = true;
	haul_status st;

	if (!transfer_is_far_move(t) || !t->is_push)
		return true;
	st = shares_load(t->home, &shares, &fault);
	if (haul_failed(st)) {
		transfer_error(t, EXIT_CLASS_NOT_ALLOWED, st, fault.text, NULL);
		return false;
	}
	for (size_t i = 0; i < t->landing.count; i++)
		is_fine = guard_source(t, &shares, i) && is_fine;
	shares_free(&shares);
	return is_fine;
}

/* Of directories that move themselves; the others stay, emptied. */
haul_status transfer_choose_tops(struct transfer *t)
{
	if (!transfer_is_far_move(t) || t->req->dry_run)
		return HAUL_OK;
	t->move_tops = calloc(t->scan_source_count + 1, sizeof(*t->move_tops));
	if (!t->move_tops)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < t->scan_source_count; i++) {
		size_t place = t->scan_places[i];

		if (t->landing.landed[place].name && t->sources[place].kind == ENTRY_DIRECTORY)
			t->move_tops[i] = t->sources[place].path;
	}
	return HAUL_OK;
}

void transfer_on_kept(void *ctx, const char *path, bool is_file, haul_status code, const char *words)
{
	struct transfer *t = ctx;
	char shown[TRANSFER_SHOWN_MAX], why[HAUL_FAULT_TEXT_MAX], text[TRANSFER_SHOWN_MAX + HAUL_FAULT_TEXT_MAX + 16];

	(void)is_file;
	transfer_shown(t, true, path, shown, sizeof(shown));
	haul_escape(words, strlen(words), why, sizeof(why));
	(void)snprintf(text, sizeof(text), "%s stays: %s", shown, *words ? why : haul_status_text(code));
	transfer_entry_error(t, path, code.code == HAUL_CODE_CHANGED ? EXIT_CLASS_CHANGED : EXIT_CLASS_ENTRIES, code,
			     text);
}

/* What a source lands as, as a whole. */
static bool is_top(const struct transfer *t, const char *path)
{
	for (size_t i = 0; i < t->landing.count; i++)
		if (t->landing.landed[i].name && !strcmp(t->landing.landed[i].name, path))
			return true;
	return false;
}

bool transfer_was_moved(const struct transfer *t, const char *path, haul_status code)
{
	return t->again.had_agreed && code.code == HAUL_CODE_NOT_FOUND && is_top(t, path);
}

/* Deleted by attempts that are over: of this job all the same, and proven. */
void transfer_add_moved(const struct transfer *t, struct job_totals *all)
{
	const struct transfer_again *a = &t->again;

	if (all->has_root) {
		all->entries += a->moved.entries;
		all->files += a->moved.files;
		all->bytes += a->moved.bytes;
		all->proven += a->moved.entries;
		all->files_proven += a->moved.files;
	}
	all->moved.files += a->moved.files;
	all->moved.entries += a->moved.entries;
	all->moved.bytes += a->moved.bytes;
}

/* A destination that does not say that all of it is durable is not believed. */
void transfer_check_moved(struct transfer *t)
{
	if (!transfer_is_far_move(t) || t->req->dry_run || !transfer_totals(t)->has_root || t->report->is_durable)
		return;
	transfer_error(t, EXIT_CLASS_ENTRIES, HAUL_IO,
		       "everything stays: the destination does not say that it is durable", NULL);
}
