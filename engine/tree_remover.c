/*
 * The threads of a tree remover and what they have in common: a stack of directories, a count of those that are not
 * done, one lock that is taken a few times per directory and never per file. The last directory ends the threads.
 * Fails: without memory or threads; what was begun is ended in good order.
 */
#include "engine/tree_remover_impl.h"

#include "engine/facts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Directories to be done from which on other threads are worth their start: a sync that deletes 20,000 directories with
 * a file each took 38 s of CPU with eight threads for each of them, and takes 4. */
enum { WIDE = 16 };

enum { HANDLES_MAX = 256, HANDLES_LEAST = 8, TICK_NS = 200 * 1000 * 1000, NS_PER_S = 1000 * 1000 * 1000 };

bool tree_is_stopping(struct tree_remover *r)
{
	bool is_stopping = r->cfg->stop && atomic_load_explicit(r->cfg->stop, memory_order_relaxed);

	pthread_mutex_lock(&r->lock);
	if (is_stopping)
		r->totals.is_stopped = true;
	is_stopping |= r->totals.is_over || r->is_broken;
	pthread_mutex_unlock(&r->lock);
	return is_stopping;
}

void tree_push(struct tree_remover *r, struct tree_dir *d)
{
	d->next = r->stack;
	r->stack = d;
}

/* Bytes of the path above and of the directory's own name. */
static size_t path_bytes(const struct tree_dir *d)
{
	size_t len = 0;

	for (; d && d->parent; d = d->parent)
		len += strlen(d->name) + 1;
	return len;
}

/* "shown/a/b/name"; NULL without memory. Given: free(). Names never change, so no lock. */
static char *make_path(const struct tree_dir *dir, const struct tree_target *target, const char *name)
{
	size_t top = strlen(target->shown), below = path_bytes(dir), own = name ? strlen(name) + 1 : 0;
	char *path, *at;

	while (top > 1 && target->shown[top - 1] == '/')
		top--;
	path = malloc(top + below + own + 1);
	if (!path)
		return NULL;
	memcpy(path, target->shown, top);
	at = path + top + below;
	*at = '\0';
	if (name) {
		*at = '/';
		memcpy(at + 1, name, own);
	}
	for (; dir && dir->parent; dir = dir->parent) {
		size_t len = strlen(dir->name);

		at -= len + 1;
		*at = '/';
		memcpy(at + 1, dir->name, len);
	}
	return path;
}

void tree_tell_entry(struct tree_remover *r, const struct tree_dir *dir, const struct tree_target *target,
		     const char *name, enum entry_kind kind)
{
	const struct tree_remover_config *cfg = r->cfg;
	char *path;

	if (!cfg->on_entry)
		return;
	path = make_path(dir, target, name);
	pthread_mutex_lock(&r->tell);
	cfg->on_entry(cfg->ctx, path ? path : target->shown, kind);
	pthread_mutex_unlock(&r->tell);
	free(path);
}

static const char *problem_text(haul_status st, int os_errno, char *ret_text, size_t cap)
{
	if (st.code == HAUL_CROSS_DEVICE.code)
		return "something is mounted there";
	if (st.code == HAUL_NOT_EMPTY.code)
		return "something keeps appearing in it";
	if (!os_errno)
		return haul_status_text(st);
	(void)snprintf(ret_text, cap, "%s", strerror(os_errno));
	return ret_text;
}

void tree_tell_problem(struct tree_remover *r, const struct tree_dir *dir, const struct tree_target *target,
		       const char *name, enum entry_kind kind, haul_status st, int os_errno)
{
	const struct tree_remover_config *cfg = r->cfg;
	struct haul_fault fault;
	char *path, text[128];

	if (!cfg->on_problem)
		return;
	path = make_path(dir, target, name);
	(void)haul_fault_set(&fault, st, "%s", problem_text(st, os_errno, text, sizeof(text)));
	fault.os_errno = os_errno;
	pthread_mutex_lock(&r->tell);
	cfg->on_problem(cfg->ctx, path ? path : target->shown, kind, &fault);
	pthread_mutex_unlock(&r->tell);
	free(path);
}

void tree_add_totals(struct tree_remover *r, const struct tree_totals *counted)
{
	struct tree_totals *all = &r->totals;

	all->entries += counted->entries;
	all->files += counted->files;
	all->bytes += counted->bytes;
	all->left += counted->left;
	all->left_files += counted->left_files;
	all->kept += counted->kept;
	all->is_over = r->cfg->entries_max && all->entries > r->cfg->entries_max;
}

haul_status tree_status_of(int err)
{
	return err == EBUSY ? HAUL_CROSS_DEVICE : haul_status_from_errno(err);
}

static struct tree_dir *next_work(struct tree_remover *r)
{
	struct tree_dir *d;

	pthread_mutex_lock(&r->lock);
	while (!r->stack && r->alive)
		pthread_cond_wait(&r->work, &r->lock);
	d = r->stack;
	if (d)
		r->stack = d->next;
	pthread_mutex_unlock(&r->lock);
	return d;
}

static void *thread_run(void *worker)
{
	struct tree_worker *w = worker;
	struct tree_dir *d;

	while ((d = next_work(w->r)))
		tree_work(w, d);
	return NULL;
}

static void tick(struct tree_remover *r)
{
	struct tree_totals so_far;

	pthread_mutex_lock(&r->lock);
	so_far = r->totals;
	pthread_mutex_unlock(&r->lock);
	pthread_mutex_lock(&r->tell);
	r->cfg->on_tick(r->cfg->ctx, &so_far);
	pthread_mutex_unlock(&r->tell);
}

static void wait_for_end(struct tree_remover *r)
{
	bool is_over = false;

	while (!is_over) {
		struct timespec until;

		(void)clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		until.tv_sec += until.tv_nsec / NS_PER_S;
		until.tv_nsec %= NS_PER_S;
		pthread_mutex_lock(&r->lock);
		if (r->alive)
			(void)pthread_cond_timedwait(&r->end, &r->lock, &until);
		is_over = !r->alive;
		pthread_mutex_unlock(&r->lock);
		if (!is_over && r->cfg->on_tick)
			tick(r);
	}
}

/* Signals are the calling thread's: its waits are short, and nothing of ours is ended half-way. */
static unsigned start_threads(struct tree_worker *workers, unsigned count, pthread_t *threads)
{
	sigset_t all, before;
	unsigned started = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started < count && pthread_create(&threads[started], NULL, thread_run, &workers[started]) == 0)
		started++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static bool is_wide(struct tree_remover *r)
{
	bool wide;

	pthread_mutex_lock(&r->lock);
	wide = r->alive >= WIDE;
	pthread_mutex_unlock(&r->lock);
	return wide;
}

/* Nobody wants ticks: the calling thread works too, alone until there is enough for others. How many it has started. */
static unsigned work_here(struct tree_remover *r, struct tree_worker *workers, pthread_t *threads)
{
	unsigned started = 0;
	bool has_called = false;
	struct tree_dir *d;

	while ((d = next_work(r))) {
		tree_work(&workers[0], d);
		if (has_called || !is_wide(r))
			continue;
		has_called = true;
		started = start_threads(workers + 1, r->cfg->threads - 1, threads);
	}
	return started;
}

static haul_status run_threads(struct tree_remover *r, struct haul_fault *fault)
{
	unsigned count = r->cfg->threads, started;
	struct tree_worker *workers = calloc(count, sizeof(*workers));
	pthread_t threads[TREE_THREADS_MAX];

	if (!workers)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for %u threads", count);
	for (unsigned i = 0; i < count; i++)
		workers[i].r = r;
	started = r->cfg->on_tick ? start_threads(workers, count, threads) : 0;
	if (started)
		wait_for_end(r);
	else
		started = work_here(r, workers, threads); /* also without a second thread, then without ticks */
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	free(workers);
	return r->is_broken ? haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for what the trees hold") : HAUL_OK;
}

static void end_file(struct tree_remover *r, const struct tree_target *t, const struct stat *st, int err)
{
	enum entry_kind kind = facts_kind(st->st_mode);
	bool is_file = kind == ENTRY_FILE;

	if (err == ENOENT)
		return;
	if (err) {
		tree_add_totals(r, &(struct tree_totals){ .left = 1, .left_files = is_file });
		tree_tell_problem(r, NULL, t, NULL, kind, tree_status_of(err), err);
		return;
	}
	tree_add_totals(
	    r, &(struct tree_totals){ .entries = 1,
				      .files = is_file,
				      .bytes = r->cfg->mode == TREE_COUNT && is_file ? (uint64_t)st->st_size : 0 });
	tree_tell_entry(r, NULL, t, NULL, kind);
}

/* Before there are threads: a target that is no directory goes at once, a directory onto the stack. */
static haul_status begin_target(struct tree_remover *r, const struct tree_target *t)
{
	struct tree_dir *d;
	struct stat st;
	int err = 0;

	if (tree_is_stopping(r))
		return HAUL_OK;
	if (fstatat(t->dir_fd, t->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		st.st_mode = S_IFREG;
		end_file(r, t, &st, errno);
		return HAUL_OK;
	}
	if (!S_ISDIR(st.st_mode)) {
		if (r->cfg->mode == TREE_REMOVE && unlinkat(t->dir_fd, t->name, 0) < 0)
			err = errno;
		end_file(r, t, &st, err);
		return HAUL_OK;
	}
	d = tree_dir_new(NULL, t, t->name);
	if (!d)
		return HAUL_NO_MEMORY;
	tree_push(r, d);
	r->alive++;
	return HAUL_OK;
}

static unsigned handles_max(void)
{
	struct rlimit limit;
	rlim_t max = HANDLES_MAX;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < max)
		max = limit.rlim_cur / 2;
	return max < HANDLES_LEAST ? HANDLES_LEAST : (unsigned)max;
}

static void remover_open(struct tree_remover *r, const struct tree_remover_config *cfg)
{
	pthread_condattr_t by_monotonic;

	*r = (struct tree_remover){ .cfg = cfg, .open_max = handles_max() };
	list_init(&r->idle);
	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_mutex_init(&r->tell, NULL);
	(void)pthread_cond_init(&r->work, NULL);
	(void)pthread_condattr_init(&by_monotonic);
	(void)pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&r->end, &by_monotonic);
	(void)pthread_condattr_destroy(&by_monotonic);
}

static void remover_close(struct tree_remover *r)
{
	(void)pthread_cond_destroy(&r->end);
	(void)pthread_cond_destroy(&r->work);
	(void)pthread_mutex_destroy(&r->tell);
	(void)pthread_mutex_destroy(&r->lock);
}

haul_status tree_remover_run(const struct tree_remover_config *cfg, const struct tree_target *targets, size_t count,
			     struct tree_totals *ret_totals, struct haul_fault *fault)
{
	struct tree_remover r;
	haul_status st = HAUL_OK;

	assert(cfg->threads >= 1 && cfg->threads <= TREE_THREADS_MAX);
	remover_open(&r, cfg);
	for (size_t i = count; i > 0 && haul_ok(st); i--)
		st = begin_target(&r, &targets[i - 1]);
	if (haul_failed(st)) {
		(void)haul_fault_set(fault, st, "no memory for %zu trees", count);
		r.is_broken = true;
	}
	if (r.alive && haul_ok(st))
		st = run_threads(&r, fault);
	else if (r.alive)
		(void)run_threads(&r, NULL);
	*ret_totals = r.totals;
	remover_close(&r);
	return st;
}
