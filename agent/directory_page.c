/*
 * The kept names form a heap with the greatest at the top: a smaller one that comes along takes its place. A directory
 * of n names costs n/max passes; the sort at the end makes the heap a page.
 */
#include "agent/directory_page.h"

#include "engine/base/entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sift_down(char **heap, size_t count, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		char *moved;

		if (child >= count)
			return;
		if (child + 1 < count && strcmp(heap[child + 1], heap[child]) > 0)
			child++;
		if (strcmp(heap[at], heap[child]) >= 0)
			return;
		moved = heap[at];
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

static void sift_up(char **heap, size_t at)
{
	while (at && strcmp(heap[at], heap[(at - 1) / 2]) > 0) {
		char *moved = heap[at];

		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
		heap[at] = moved;
	}
}

/* Keep `name` if it is among the `max` smallest so far. */
static haul_status offer(struct directory_page *p, size_t max, const char *name)
{
	bool is_full = p->count == max;
	char *copy;

	if (is_full) {
		p->has_more = true;
		if (strcmp(name, p->names[0]) >= 0)
			return HAUL_OK;
	}
	copy = strdup(name);
	if (!copy)
		return HAUL_NO_MEMORY;
	if (is_full) {
		free(p->names[0]);
		p->names[0] = copy;
		sift_down(p->names, p->count, 0);
	} else {
		p->names[p->count] = copy;
		sift_up(p->names, p->count++);
	}
	return HAUL_OK;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static haul_status collect(DIR *dir, const char *after, size_t max, struct directory_page *p)
{
	const struct dirent *entry;
	haul_status st = HAUL_OK;

	while (haul_ok(st)) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return errno ? haul_status_from_errno(errno) : HAUL_OK;
		if (strcmp(entry->d_name, after) > 0 &&
		    haul_ok(haul_component_check(entry->d_name, strlen(entry->d_name))))
			st = offer(p, max, entry->d_name);
	}
	return st;
}

haul_status directory_page_read(int dir_fd, const char *after, size_t max, struct directory_page *ret_page)
{
	struct directory_page page = { .names = calloc(max, sizeof(*page.names)) };
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	haul_status st = dir ? HAUL_OK : haul_status_from_errno(errno);

	if (!dir && fd >= 0)
		close(fd);
	if (haul_ok(st))
		st = page.names ? collect(dir, after, max, &page) : HAUL_NO_MEMORY;
	if (dir)
		closedir(dir);
	if (haul_failed(st)) {
		directory_page_close(&page);
		return st;
	}
	if (page.count)
		qsort(page.names, page.count, sizeof(*page.names), by_bytes);
	*ret_page = page;
	return HAUL_OK;
}

void directory_page_close(struct directory_page *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->names[i]);
	free(p->names);
	*p = (struct directory_page){ .count = 0 };
}
