/*
 * The last look and unlinkat() are two calls, as on one machine (eraser_entry.c): what somebody writes between them,
 * into a file that is no longer where it was, goes with it.
 */
#include "agent/move_item.h"

#include "agent/eraser_entry.h"
#include "agent/eraser_meta.h"
#include "agent/local_place.h"
#include "engine/hash_tree.h"
#include "engine/whole_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static haul_status changed(struct haul_fault *fault)
{
	return haul_fault_set(fault, HAUL_CHANGED, "it has changed since it was read");
}

/* By all that a rename leaves as it is. */
static bool is_same_content(const struct entry_facts *was, const struct entry_facts *is)
{
	return was->kind == is->kind && entry_is_same(was, is) && was->size == is->size &&
	       entry_time_equal(&was->mtime, &is->mtime);
}

static bool is_stopping(const struct move_work *w)
{
	return atomic_load_explicit(w->is_stopping, memory_order_relaxed);
}

/* ---- reading once more ---- */

static int open_file(int dir_fd, const char *name)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(dir_fd, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(dir_fd, name, flags) : fd;
}

static haul_status hash_all(struct move_work *w, int fd, struct hash_tree *tree, char *buf, struct haul_fault *fault)
{
	for (uint64_t leaf = 0; !hash_tree_is_full(tree); leaf++) {
		struct haul_digest d;
		size_t len;
		haul_status st = read_up_to(fd, buf, HAUL_LEAF_BYTES, &len);

		if (haul_failed(st))
			return haul_fault_set(fault, st, "it cannot be read once more: %s", haul_status_text(st));
		if (is_stopping(w))
			return haul_fault_set(fault, HAUL_CANCELLED, "%s", haul_status_text(HAUL_CANCELLED));
		leaf_digest(buf, len, &d);
		st = hash_tree_put(tree, leaf, &d);
		if (haul_failed(st))
			return haul_fault_set(fault, st, "%s", haul_status_text(st));
		w->on_leaf(w->eraser);
	}
	return HAUL_OK;
}

static haul_status read_again(struct move_work *w, const struct move_note *n, int fd, struct haul_fault *fault)
{
	struct hash_tree *tree = hash_tree_new(leaf_count(n->facts.size));
	char *buf = malloc(HAUL_LEAF_BYTES);
	haul_status st =
	    tree && buf ? HAUL_OK : haul_fault_set(fault, HAUL_NO_MEMORY, "no memory to read it once more");
	struct haul_digest root;
	struct entry_facts now;

	if (haul_ok(st))
		st = hash_all(w, fd, tree, buf, fault);
	if (haul_ok(st)) {
		hash_tree_root(tree, &root);
		if (!digest_equal(&root, &n->root) || haul_failed(beneath_stat_handle(fd, &now)) ||
		    !eraser_is_unchanged(&n->facts, &now))
			st = changed(fault);
	}
	hash_tree_free(tree);
	free(buf);
	return st;
}

/* Where times may hide a change, or not all was read for this job: its bytes are looked at again. */
static haul_status check_bytes(struct move_work *w, const struct move_note *n, int dir_fd, const char *name,
			       struct haul_fault *fault)
{
	haul_status st;
	int fd;

	if (n->facts.kind != ENTRY_FILE || (!n->was_told && !eraser_is_fresh(&n->facts, w->began)))
		return HAUL_OK;
	fd = open_file(dir_fd, name);
	if (fd < 0)
		return haul_fault_errno(fault, errno, "it cannot be read once more");
	st = read_again(w, n, fd, fault);
	(void)close(fd);
	return st;
}

/* What the other end could not keep must not go with the source, unless the system itself gave it. */
static haul_status check_carried(const struct move_note *n, int dir_fd, const char *name, struct haul_fault *fault)
{
	const uint32_t owner = LOST_OWNER_RIGHT | LOST_OWNER_STORE | LOST_OWNER_NAME | LOST_SPECIAL_BITS;
	uint32_t lost = n->lost & ~owner; /* two machines name owners apart */

	return lost ? eraser_check_carried(dir_fd, name, lost == LOST_TRUSTED_RIGHT, fault) : HAUL_OK;
}

/* ---- files and links ---- */

static struct move_dir *find_dir(struct move_work *w, const struct entry_facts *facts)
{
	for (unsigned i = 0; i < w->dir_count; i++)
		if (w->dirs[i].device == facts->device && w->dirs[i].inode == facts->inode)
			return &w->dirs[i];
	return NULL;
}

/* The batch's private directory where the entry is, made for the first one. HAUL_BUSY: no room for another. */
static haul_status enter(struct move_work *w, const struct move_note *n, const char *source_path,
			 struct move_dir **ret_dir, const char **ret_name, struct haul_fault *fault)
{
	int root_fd = w->cfg->sources[n->source].root_fd, dir_fd = -1;
	struct entry_facts facts;
	struct move_dir *d;
	haul_status st = parent_cache_get(&w->parents, root_fd, source_path, &dir_fd, ret_name);

	if (haul_ok(st))
		st = beneath_stat_handle(dir_fd, &facts);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	*ret_dir = find_dir(w, &facts);
	if (*ret_dir)
		return HAUL_OK;
	if (w->dir_count == MOVE_DIRS_MAX)
		return HAUL_BUSY;
	d = &w->dirs[w->dir_count];
	*d = (struct move_dir){ .dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0),
				.aside_fd = -1,
				.device = facts.device,
				.inode = facts.inode };
	if (d->dir_fd < 0)
		return haul_fault_errno(fault, errno, "it cannot be set aside");
	d->status = aside_open(d->dir_fd, w->aside, &d->aside_fd);
	if (haul_failed(d->status))
		d->aside_fd = -1;
	w->dir_count++;
	*ret_dir = d;
	return HAUL_OK;
}

static haul_status look(const struct move_note *n, int dir_fd, const char *name, struct haul_fault *fault)
{
	struct entry_facts now;
	haul_status st = beneath_stat_at(dir_fd, name, &now);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	return eraser_is_unchanged(&n->facts, &now) ? HAUL_OK : changed(fault);
}

/*
 * On a full file system there is no room for a private directory, and deleting must go on all the same. What this job
 * has written can do without: had it landed on its own source, that would be another file by now.
 */
static bool goes_in_place(const struct move_dir *d, const struct move_note *n)
{
	return n->is_new && (d->status.code == HAUL_CODE_NO_SPACE || d->status.code == HAUL_CODE_QUOTA);
}

static haul_status put_aside(const struct move_dir *d, const struct move_note *n, const char *name,
			     struct move_item *ret_item, struct haul_fault *fault)
{
	struct entry_facts now;
	haul_status st;

	ret_item->moved = n->facts.ctime;
	if (d->aside_fd < 0 && goes_in_place(d, n))
		return HAUL_OK;
	st = d->aside_fd < 0 ? d->status : aside_take(d->dir_fd, name, d->aside_fd);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "it cannot be set aside: %s", haul_status_text(st));
	if (haul_ok(beneath_stat_at(d->aside_fd, name, &now)) && is_same_content(&n->facts, &now)) {
		ret_item->moved = now.ctime;
		return HAUL_OK;
	}
	st = aside_give_back(d->aside_fd, name, d->dir_fd);
	return haul_ok(st) ? changed(fault)
			   : haul_fault_set(fault, HAUL_CHANGED, "it is now in a directory beside it: %s",
					    haul_status_text(st));
}

haul_status move_item_take(struct move_work *w, const struct move_note *n, struct move_item *item,
			   struct haul_fault *fault)
{
	struct move_dir *d = NULL;
	const char *name = NULL;
	haul_status st = enter(w, n, item->source_path, &d, &name, fault);

	if (haul_failed(st))
		return st;
	item->dir = d;
	st = look(n, d->dir_fd, name, fault);
	if (haul_ok(st))
		st = check_carried(n, d->dir_fd, name, fault);
	if (haul_ok(st))
		st = check_bytes(w, n, d->dir_fd, name, fault);
	return haul_ok(st) ? put_aside(d, n, name, item, fault) : st;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the other end's code means for what stays. */
static haul_status say_code(uint32_t code, bool is_directory, struct haul_fault *fault)
{
	haul_status st = haul_status_from_number(code);

	if (code == HAUL_CODE_SAME_FILE)
		return haul_fault_set(fault, st, "the destination is the very same directory, seen by another way");
	if (code == HAUL_CODE_CHANGED && !is_directory)
		return haul_fault_set(fault, st, "what landed is not there any more, or has changed");
	if (code == HAUL_CODE_CANCELLED)
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	return haul_fault_set(fault, st, "the destination cannot say that it is there: %s", haul_status_text(st));
}

/* Nothing has touched it while it was aside. */
static haul_status delete_aside(const struct move_item *i, int fd, const char *name, struct haul_fault *fault)
{
	struct entry_facts now;

	if (haul_failed(beneath_stat_at(fd, name, &now)) || !is_same_content(&i->facts, &now) ||
	    !entry_time_equal(&i->moved, &now.ctime))
		return changed(fault);
	return unlinkat(fd, name, 0) ? haul_fault_errno(fault, errno, "it cannot be deleted") : HAUL_OK;
}

haul_status move_item_finish(struct move_work *w, const struct move_item *i, uint32_t code, struct haul_fault *fault)
{
	const char *name = name_of(i->source_path);
	const struct move_dir *d = i->dir;
	bool is_aside = d->aside_fd >= 0;
	char why[HAUL_FAULT_TEXT_MAX];
	haul_status st, back;

	st = code ? say_code(code, false, fault) : delete_aside(i, is_aside ? d->aside_fd : d->dir_fd, name, fault);
	if (haul_ok(st) || !is_aside)
		return st;
	back = aside_give_back(d->aside_fd, name, d->dir_fd);
	if (haul_ok(back) || back.code == HAUL_CODE_NOT_FOUND)
		return st;
	(void)snprintf(why, sizeof(why), "%s", fault->text);
	return haul_fault_set(fault, st, "%.300s; it is now in %s beside it: %s", why, w->aside,
			      haul_status_text(back));
}

static void sync_dirty(struct move_work *w)
{
	while (w->dirty_count) {
		struct move_dirty *d = &w->dirty[--w->dirty_count];
		int root_fd = w->cfg->sources[d->source].root_fd, fd = -1;
		haul_status st = *d->path ? beneath_open(root_fd, d->path, O_PATH | O_DIRECTORY, 0, &fd) : HAUL_OK;

		if (haul_ok(st))
			st = beneath_sync_directory(*d->path ? fd : root_fd, -1);
		if (haul_failed(st) && st.code != HAUL_CODE_NOT_FOUND)
			w->synced = st;
		if (fd >= 0)
			(void)close(fd);
		free(d->path);
	}
}

void move_dirs_close(struct move_work *w)
{
	for (unsigned i = 0; i < w->dir_count; i++) {
		struct move_dir *d = &w->dirs[i];
		haul_status st;

		/* What could not be put back stays in it, and was told. */
		if (d->aside_fd >= 0)
			(void)haul_ok(aside_close(d->dir_fd, w->aside, d->aside_fd));
		st = beneath_sync_directory(d->dir_fd, -1);
		if (haul_failed(st))
			w->synced = st;
		(void)close(d->dir_fd);
	}
	w->dir_count = 0;
	sync_dirty(w);
}

/* ---- directories ---- */

/* The directory itself, if it is still the one that was scanned; *ret_fd is given. */
static haul_status open_directory(const struct move_work *w, const struct move_item *i, int flags, int *ret_fd)
{
	int root_fd = w->cfg->sources[i->source].root_fd;
	struct entry_facts now;
	haul_status st;

	if (*i->source_path) {
		st = beneath_open(root_fd, i->source_path, flags | O_DIRECTORY, 0, ret_fd);
	} else {
		*ret_fd = openat(root_fd, ".", flags | O_DIRECTORY | O_CLOEXEC);
		st = *ret_fd < 0 ? haul_status_from_errno(errno) : HAUL_OK;
	}
	if (haul_failed(st))
		return st;
	st = beneath_stat_handle(*ret_fd, &now);
	if (haul_ok(st) && entry_is_same(&now, &i->facts))
		return HAUL_OK;
	(void)close(*ret_fd);
	return haul_ok(st) ? HAUL_NOT_FOUND : st; /* another one: none of ours */
}

/* Whether nothing but directories, which may go, is in it. What else there is was told, but for names of haul's own. */
static haul_status check_emptied(int fd, struct haul_fault *fault)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	haul_status st = HAUL_OK;
	struct dirent *e;

	if (!dir) {
		st = haul_fault_errno(fault, errno, "it cannot be listed once more");
		if (copy >= 0)
			(void)close(copy);
		return st;
	}
	while ((e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (haul_component_check(e->d_name, strlen(e->d_name)).code == HAUL_CODE_RESERVED_NAME)
			st = haul_fault_set(fault, HAUL_RESERVED_NAME,
					    "names in it are reserved for haul (.haul, .haul.*, .haul-*) and were not "
					    "copied: rename them and run again");
		else if (haul_ok(st) && e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
			st = HAUL_NOT_EMPTY;
	}
	(void)closedir(dir);
	return st;
}

haul_status move_item_mark(struct move_work *w, const struct move_note *n, const struct move_item *i,
			   struct haul_fault *fault)
{
	int fd = -1;
	haul_status st;

	if (!*i->source_path && (!w->cfg->tops || !w->cfg->tops[i->source]))
		return HAUL_NOT_FOUND; /* its contents were moved: it stays */
	st = open_directory(w, i, O_RDONLY, &fd);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	st = check_emptied(fd, fault);
	if (haul_ok(st))
		st = check_carried(n, fd, ".", fault);
	if (haul_ok(st) && mkdirat(fd, w->aside, 0700))
		st = errno == ENOENT ? HAUL_NOT_FOUND /* it has been removed */
				     : haul_fault_errno(fault, errno,
							"it cannot be shown to be another than the one "
							"there");
	(void)close(fd);
	return st;
}

/* The directory as typed, if that is still it. */
static haul_status remove_top(struct move_work *w, const struct move_item *i, struct haul_fault *fault)
{
	struct local_place p;
	haul_status st = local_place_open(&p, w->cfg->tops[i->source], fault);

	if (st.code == HAUL_CODE_USAGE)
		return HAUL_NOT_FOUND; /* typed as "." or "..": it stays, empty */
	if (haul_failed(st))
		return st;
	if (p.is_root || !entry_is_same(&p.facts, &i->facts))
		st = HAUL_NOT_FOUND;
	else if (unlinkat(p.dir_fd, p.name, AT_REMOVEDIR))
		st = haul_fault_errno(fault, errno, "it cannot be deleted");
	if (haul_ok(st) && haul_failed(beneath_sync_directory(p.dir_fd, -1)))
		w->synced = HAUL_IO;
	local_place_close(&p);
	return st;
}

/* Children come before their directory: what has gone itself needs no sync, and is the last that was noted. */
static void note_removed(struct move_work *w, const struct move_item *i, size_t parent_len)
{
	struct move_dirty *last = w->dirty_count ? &w->dirty[w->dirty_count - 1] : NULL;

	if (last && last->source == i->source && !strcmp(last->path, i->source_path)) {
		free(last->path);
		last = --w->dirty_count ? last - 1 : NULL;
	}
	if (last && last->source == i->source && strlen(last->path) == parent_len &&
	    !memcmp(last->path, i->source_path, parent_len))
		return;
	if (w->dirty_count == w->dirty_cap) {
		size_t cap = w->dirty_cap ? 2 * w->dirty_cap : 16;
		struct move_dirty *more = realloc(w->dirty, cap * sizeof(*more));

		if (!more) {
			w->synced = HAUL_NO_MEMORY;
			return;
		}
		w->dirty = more;
		w->dirty_cap = cap;
	}
	w->dirty[w->dirty_count] = (struct move_dirty){ i->source, strndup(i->source_path, parent_len) };
	if (w->dirty[w->dirty_count].path)
		w->dirty_count++;
	else
		w->synced = HAUL_NO_MEMORY;
}

static haul_status remove_below(struct move_work *w, const struct move_item *i, struct haul_fault *fault)
{
	const char *name;
	int dir_fd;
	haul_status st;

	st = beneath_parent(w->cfg->sources[i->source].root_fd, i->source_path, &dir_fd, &name);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	if (unlinkat(dir_fd, name, AT_REMOVEDIR))
		st = haul_fault_errno(fault, errno, "it cannot be deleted");
	else
		note_removed(w, i, name > i->source_path ? (size_t)(name - i->source_path) - 1 : 0);
	(void)close(dir_fd);
	return st;
}

haul_status move_item_remove(struct move_work *w, const struct move_item *i, uint32_t code, struct haul_fault *fault)
{
	int fd = -1;
	haul_status st = open_directory(w, i, O_PATH, &fd);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	st = code ? say_code(code, true, fault) : HAUL_OK;
	if (unlinkat(fd, w->aside, AT_REMOVEDIR) && errno != ENOENT && haul_ok(st))
		st = haul_fault_errno(fault, errno, "it cannot be deleted");
	(void)close(fd);
	if (haul_failed(st))
		return st;
	return *i->source_path ? remove_below(w, i, fault) : remove_top(w, i, fault);
}
