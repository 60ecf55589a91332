/* A record file of size, seconds, nanoseconds, path; read by the first find, and again, under its lock, by the save. */
#include "agent/placed_files.h"

#include "engine/base/record_file.h"
#include "engine/file_system_id.h"
#include "engine/hash_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "placed-"

static const char placed_format[] = "haul-placed 1";

enum { FIELDS = 4, NUMBER_TEXT = 24, PEER_BYTES = 32, DAY_S = 86400, HEX_CHARS = 32 };

struct placed {
	uint64_t size;
	struct entry_time mtime;
	const char *path; /* owned, or the record file's */
};

struct placed_list {
	struct placed *items; /* owned */
	size_t count, cap;
	size_t path_bytes;
};

struct placed_files {
	const char *state_dir;
	char name[sizeof(PREFIX) + HEX_CHARS];
	struct placed_list fresh; /* owned paths */
	bool is_read;
	struct record_file *file; /* owned; what was there; NULL: nothing */
	struct placed_list known; /* its records, by size and time */
};

static bool push(struct placed_list *l, const struct placed *item)
{
	size_t cap = l->cap ? l->cap * 2 : 64;
	struct placed *more;

	if (l->count == l->cap) {
		more = realloc(l->items, cap * sizeof(*more));
		if (!more)
			return false;
		l->items = more;
		l->cap = cap;
	}
	l->items[l->count++] = *item;
	l->path_bytes += strlen(item->path);
	return true;
}

static bool name_it(struct placed_files *p, const uint8_t peer_id[PEER_BYTES], int root_fd)
{
	struct {
		uint8_t peer[PEER_BYTES], fs[FILE_SYSTEM_ID_BYTES];
		uint64_t inode;
	} key = { 0 };
	struct haul_digest digest;
	struct stat st;
	int n = snprintf(p->name, sizeof(p->name), PREFIX);

	if (fstat(root_fd, &st) < 0 || !file_system_id(root_fd, key.fs))
		return false;
	memcpy(key.peer, peer_id, PEER_BYTES);
	key.inode = st.st_ino;
	leaf_digest(&key, sizeof(key), &digest);
	for (size_t i = 0; i < sizeof(digest.bytes); i++)
		n += snprintf(p->name + n, sizeof(p->name) - (size_t)n, "%02x", digest.bytes[i]);
	return true;
}

struct placed_files *placed_files_new(const char *state_dir, const uint8_t peer_id[32], int root_fd)
{
	struct placed_files *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->state_dir = state_dir;
	if (name_it(p, peer_id, root_fd))
		return p;
	free(p);
	return NULL;
}

void placed_files_free(struct placed_files *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->fresh.count; i++)
		free((void *)(uintptr_t)p->fresh.items[i].path);
	free(p->fresh.items);
	free(p->known.items);
	record_file_free(p->file);
	free(p);
}

void placed_files_put(struct placed_files *p, const char *path, uint64_t size, const struct entry_time *mtime)
{
	struct placed item = { size, *mtime, NULL };

	if (size < PLACED_SIZE_MIN || p->fresh.count == PLACED_FILES_MAX ||
	    p->fresh.path_bytes + strlen(path) > PLACED_PATHS_MAX)
		return;
	item.path = strdup(path);
	if (item.path && !push(&p->fresh, &item))
		free((void *)(uintptr_t)item.path);
}

/* ---- what is there ---- */

static int compare(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->mtime.sec != y->mtime.sec)
		return x->mtime.sec < y->mtime.sec ? -1 : 1;
	return (x->mtime.nsec > y->mtime.nsec) - (x->mtime.nsec < y->mtime.nsec);
}

static int compare_path(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static struct placed record_at(const struct record_file *file, size_t line)
{
	struct placed item = { .path = record_file_field(file, line, 3) };

	item.size = strtoull(record_file_field(file, line, 0), NULL, 10);
	item.mtime.sec = strtoll(record_file_field(file, line, 1), NULL, 10);
	item.mtime.nsec = (uint32_t)strtoul(record_file_field(file, line, 2), NULL, 10);
	return item;
}

/* One that is damaged or of another version is none. */
static struct record_file *read_records(int dir_fd, const char *name, struct placed_list *ret_list)
{
	struct record_file *file = NULL;
	struct haul_fault fault;

	if (haul_failed(record_file_read(dir_fd, name, placed_format, &file, &fault)))
		return NULL;
	for (size_t i = 0; i < record_file_lines(file) && i < PLACED_FILES_MAX; i++) {
		struct placed item;

		if (record_file_fields(file, i) != FIELDS)
			continue;
		item = record_at(file, i);
		(void)push(ret_list, &item);
	}
	return file;
}

static int open_state(const struct placed_files *p)
{
	return open(p->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void read_once(struct placed_files *p)
{
	int fd = p->is_read ? -1 : open_state(p);

	p->is_read = true;
	if (fd < 0)
		return;
	p->file = read_records(fd, p->name, &p->known);
	(void)close(fd);
	if (p->known.count)
		qsort(p->known.items, p->known.count, sizeof(struct placed), compare);
}

const char *placed_files_find(struct placed_files *p, uint64_t size, const struct entry_time *mtime, unsigned nth)
{
	const struct placed wanted = { size, *mtime, NULL };
	size_t low = 0, high;

	read_once(p);
	for (high = p->known.count; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (compare(&p->known.items[mid], &wanted) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	low += nth;
	return low < p->known.count && compare(&p->known.items[low], &wanted) == 0 ? p->known.items[low].path : NULL;
}

/* ---- for later ---- */

static bool is_told(const struct placed_list *list, const struct placed *item)
{
	const struct placed *there =
	    list->count ? bsearch(item, list->items, list->count, sizeof(*item), compare_path) : NULL;

	return there && compare(there, item) == 0;
}

/* `list` by path. */
static bool has_news(const struct placed_list *fresh, const struct placed_list *list)
{
	for (size_t i = 0; i < fresh->count; i++) {
		if (!is_told(list, &fresh->items[i]))
			return true;
	}
	return false;
}

static void write_one(struct record_writer *w, const struct placed *item)
{
	char text[NUMBER_TEXT];

	record_writer_line(w);
	(void)snprintf(text, sizeof(text), "%" PRIu64, item->size);
	record_writer_field(w, text);
	(void)snprintf(text, sizeof(text), "%" PRId64, item->mtime.sec);
	record_writer_field(w, text);
	(void)snprintf(text, sizeof(text), "%" PRIu32, item->mtime.nsec);
	record_writer_field(w, text);
	record_writer_field(w, item->path);
}

/* The latest first, and of those before what there is room for; both lists by path. */
static void write_all(struct record_writer *w, const struct placed_list *fresh, const struct placed_list *known)
{
	size_t count = fresh->count, bytes = fresh->path_bytes;

	for (size_t i = 0; i < fresh->count; i++)
		write_one(w, &fresh->items[i]);
	for (size_t i = 0; i < known->count && count < PLACED_FILES_MAX; i++) {
		const struct placed *item = &known->items[i];

		if (bytes + strlen(item->path) > PLACED_PATHS_MAX ||
		    bsearch(item, fresh->items, fresh->count, sizeof(*item), compare_path))
			continue;
		bytes += strlen(item->path);
		count++;
		write_one(w, item);
	}
}

/* Directories that nothing has come into for long. */
static void sweep(int state_fd)
{
	int fd = fcntl(state_fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		if (!strncmp(d->d_name, PREFIX, sizeof(PREFIX) - 1) &&
		    fstatat(state_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    time(NULL) - st.st_mtime > (time_t)PLACED_KEEP_DAYS * DAY_S)
			(void)unlinkat(state_fd, d->d_name, 0);
	}
	(void)closedir(dir);
}

static void replace(struct placed_files *p, int dir_fd)
{
	struct placed_list known = { 0 };
	struct record_file *file = read_records(dir_fd, p->name, &known);
	struct haul_fault fault;

	if (known.count)
		qsort(known.items, known.count, sizeof(struct placed), compare_path);
	qsort(p->fresh.items, p->fresh.count, sizeof(struct placed), compare_path);
	if (has_news(&p->fresh, &known)) {
		struct record_writer *w = record_writer_new(placed_format);

		if (w) {
			write_all(w, &p->fresh, &known);
			(void)haul_ok(record_writer_commit(w, dir_fd, p->name, &fault));
		}
		record_writer_free(w);
		sweep(dir_fd);
	}
	free(known.items);
	record_file_free(file);
}

void placed_files_save(struct placed_files *p)
{
	struct haul_fault fault;
	int lock_fd, dir_fd = p->fresh.count ? open_state(p) : -1;

	if (dir_fd < 0)
		return;
	if (haul_ok(record_lock(dir_fd, p->name, &lock_fd, &fault))) {
		replace(p, dir_fd);
		record_unlock(lock_fd);
	}
	(void)close(dir_fd);
}
