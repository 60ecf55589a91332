/*
 * The thread of a mirror. Two or three passes over the notes: count what would go, tell it or remove it. Each entry is
 * looked at again before it goes: what has been exchanged or written to since it was noted stays.
 */
#include "agent/mirror_parts.h"

#include "agent/share_guard.h"
#include "engine/beneath.h"
#include "engine/tree_remover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 8 };

struct doomed {
	struct entry_facts facts;
	const char *dir, *name; /* of the note in hand */
};

/* What one call of on_doomed takes, on its way to the main loop. */
struct doomed_mail {
	struct mail mail;
	struct mirror *mirror;
	enum entry_kind kind;
	haul_status status;
	char path[];
};

static void deliver_doomed(struct mail *mail, void *ctx)
{
	struct doomed_mail *d = list_item(mail, struct doomed_mail, mail);

	(void)ctx;
	d->mirror->cfg.on_doomed(d->mirror->cfg.ctx, d->path, d->kind, d->status);
	free(d);
}

static bool is_stopping(const struct mirror *m)
{
	return atomic_load(&m->stop) || haul_failed(m->status);
}

static void fail(struct mirror *m, haul_status st, const char *what)
{
	if (haul_ok(m->status))
		m->status = haul_fault_set(&m->fault, st, "%s", what);
}

static void tell(struct mirror *m, const struct doomed *d, haul_status st)
{
	size_t dir_len = strlen(d->dir), name_len = strlen(d->name), at = dir_len ? dir_len + 1 : 0;
	struct doomed_mail *mail;

	while (sem_wait(&m->room) && errno == EINTR)
		;
	if (is_stopping(m))
		return;
	mail = malloc(sizeof(*mail) + at + name_len + 1);
	if (!mail) {
		fail(m, HAUL_NO_MEMORY, "no memory to tell what is deleted");
		return;
	}
	*mail =
	    (struct doomed_mail){ .mail.deliver = deliver_doomed, .mirror = m, .kind = d->facts.kind, .status = st };
	memcpy(mail->path, d->dir, dir_len);
	if (dir_len)
		mail->path[dir_len] = '/';
	memcpy(mail->path + at, d->name, name_len + 1);
	worker_answer(&m->worker, m->cfg.main, &mail->mail);
}

/* ---- the directory in hand ---- */

/* What goes is gone for good, and the directory as old as it was: its time is the source's. */
static void leave_dir(struct mirror *m)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, m->dir_time };

	if (m->dir_fd < 0)
		return;
	if (m->is_dirty) {
		/* Another's directory keeps the new time: the next run sees to it. */
		if (*m->dir || m->cfg.keeps_root_time)
			(void)futimens(m->dir_fd, times);
		if (haul_failed(beneath_sync_directory(m->dir_fd, m->cfg.root_fd)))
			fail(m, HAUL_IO, "what was deleted could not be made durable");
	}
	(void)close(m->dir_fd);
	m->dir_fd = -1;
	m->is_dirty = false;
}

static haul_status enter_dir(struct mirror *m, const char *dir)
{
	struct stat st;
	haul_status status;

	if (m->dir_fd >= 0 && !strcmp(m->dir, dir))
		return HAUL_OK;
	leave_dir(m);
	free(m->dir);
	m->dir = strdup(dir);
	if (!m->dir)
		return HAUL_NO_MEMORY;
	status = beneath_open(m->cfg.root_fd, dir, O_RDONLY | O_DIRECTORY, 0, &m->dir_fd);
	if (haul_failed(status)) {
		m->dir_fd = -1;
		return status;
	}
	if (fstat(m->dir_fd, &st))
		return haul_status_from_errno(errno);
	m->dir_time = st.st_mtim;
	return HAUL_OK;
}

/* ---- notes ---- */

typedef void each_fn(struct mirror *m, const struct doomed *d);

static void for_each(struct mirror *m, off_t end, unsigned most, each_fn *act)
{
	struct doomed d;
	off_t at = 0;

	for (unsigned n = 0; at < end && (!most || n < most) && !is_stopping(m); n++) {
		haul_status st = note_file_read(m->notes, at, &d.facts, sizeof(d.facts), &d.dir, &d.name, &at);

		if (haul_failed(st))
			fail(m, st, "the notes of a sync could not be read");
		else
			act(m, &d);
	}
	leave_dir(m);
}

/* ---- the passes ---- */

static haul_status run_tree(struct mirror *m, const struct doomed *d, enum tree_mode mode,
			    struct tree_totals *ret_totals)
{
	const struct tree_target target = { .dir_fd = m->dir_fd, .name = d->name, .shown = d->name };
	const struct tree_remover_config cfg = {
		.mode = mode, .threads = THREADS, .keeps = mirror_protects, .stop = &m->stop, .ctx = m
	};
	haul_status st = tree_remover_run(&cfg, &target, 1, ret_totals, &m->fault);

	if (haul_failed(st))
		m->status = st;
	return st;
}

/* How many of the renamed paths are this one, or lie in it. */
static uint64_t renamed_in(const struct mirror *m, const struct doomed *d)
{
	bool is_tree = d->facts.kind == ENTRY_DIRECTORY;
	size_t low = 0, high = m->doubts.renamed_count, len, n = 0;
	const char *const *all = m->doubts.renamed;
	char *path = NULL;

	if (!high || asprintf(&path, "%s%s%s%s", d->dir, *d->dir ? "/" : "", d->name, is_tree ? "/" : "") < 0)
		return 0;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(all[mid], path) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	len = strlen(path) + !is_tree; /* with its NUL: that one alone */
	while (low + n < m->doubts.renamed_count && !strncmp(all[low + n], path, len))
		n++;
	free(path);
	return n;
}

static void count(struct mirror *m, const struct doomed *d)
{
	struct tree_totals found = { .entries = 1 };

	if (d->facts.kind == ENTRY_DIRECTORY &&
	    (haul_failed(enter_dir(m, d->dir)) || haul_failed(run_tree(m, d, TREE_COUNT, &found))))
		found.entries = 1; /* it counts, and says why when it is to go */
	m->totals.surplus += found.entries;
	m->renamed += renamed_in(m, d);
	m->totals.there += found.entries;
}

static void tell_refused(struct mirror *m, const struct doomed *d)
{
	tell(m, d, HAUL_GUARD);
}

static void tell_dry(struct mirror *m, const struct doomed *d)
{
	tell(m, d, HAUL_OK);
}

/* Still what was noted, and not a share of ours or what holds one. */
static haul_status look_again(struct mirror *m, const struct doomed *d)
{
	struct haul_fault fault = { 0 };
	struct entry_facts now;
	haul_status st = enter_dir(m, d->dir);

	if (haul_ok(st))
		st = beneath_stat_at(m->dir_fd, d->name, &now);
	if (haul_failed(st))
		return st;
	if (!entry_is_same(&now, &d->facts) || now.kind != d->facts.kind)
		return HAUL_CHANGED;
	if (now.kind == ENTRY_DIRECTORY)
		return haul_ok(share_guard_check(&m->shares, m->dir_fd, d->name, false, d->name, &fault))
			   ? HAUL_OK
			   : HAUL_HOLDS_SHARE;
	return entry_time_equal(&now.ctime, &d->facts.ctime) ? HAUL_OK : HAUL_CHANGED;
}

static haul_status remove_file(struct mirror *m, const struct doomed *d)
{
	if (unlinkat(m->dir_fd, d->name, 0)) /* busy: something is mounted on it, and it stays */
		return errno == EBUSY ? HAUL_OK : haul_status_from_errno(errno);
	m->totals.deleted++;
	m->totals.deleted_files += d->facts.kind == ENTRY_FILE;
	m->is_dirty = true;
	return HAUL_OK;
}

static haul_status remove_tree(struct mirror *m, const struct doomed *d)
{
	struct tree_totals gone;
	haul_status st = run_tree(m, d, TREE_REMOVE, &gone);

	m->totals.deleted += gone.entries;
	m->totals.deleted_files += gone.files;
	m->is_dirty |= gone.entries > 0;
	if (haul_failed(st) || gone.is_stopped)
		return st;
	return gone.left ? HAUL_NOT_EMPTY : HAUL_OK;
}

static void remove_one(struct mirror *m, const struct doomed *d)
{
	haul_status st = look_again(m, d);

	if (st.code == HAUL_NOT_FOUND.code)
		return; /* somebody else took it away */
	if (haul_ok(st))
		st = d->facts.kind == ENTRY_DIRECTORY ? remove_tree(m, d) : remove_file(m, d);
	m->totals.left += haul_failed(st);
	tell(m, d, st);
}

static void delete_all(struct mirror *m, off_t end)
{
	if (m->cfg.home && haul_failed(shares_load(m->cfg.home, &m->shares, &m->fault))) {
		m->status = m->fault.status;
		return;
	}
	for_each(m, end, 0, remove_one);
	shares_free(&m->shares);
	m->shares = (struct share_list){ 0 };
}

static void deliver_end(struct mail *mail, void *ctx)
{
	struct mirror *m = list_item(mail, struct mirror, end);

	(void)ctx;
	m->cfg.on_end(m->cfg.ctx, &m->totals, m->status, &m->fault);
}

void mirror_deliver_run(struct mail *mail, void *ctx)
{
	struct mirror *m = list_item(mail, struct mirror, begin);

	off_t end = 0;
	haul_status st = note_file_end(m->notes, &end);

	(void)ctx;
	if (haul_failed(st))
		fail(m, st, "the notes of a sync could not be written: nothing was deleted");
	for_each(m, end, 0, count);
	m->totals.refusal = mirror_weigh(m);
	if (is_stopping(m))
		;
	else if (m->totals.refusal)
		for_each(m, end, MIRROR_TOLD_WHEN_REFUSED, tell_refused);
	else if (m->cfg.is_dry)
		for_each(m, end, 0, tell_dry);
	else
		delete_all(m, end);
	m->end.deliver = deliver_end;
	worker_answer(&m->worker, m->cfg.main, &m->end);
}
