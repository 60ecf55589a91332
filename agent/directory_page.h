/*
 * Names of a directory in byte order, a page at a time, in memory that does not grow with the directory: each page is
 * one pass over it that keeps the smallest names greater than where the last page ended. Blocking.
 */
#ifndef HAUL_AGENT_DIRECTORY_PAGE_H
#define HAUL_AGENT_DIRECTORY_PAGE_H

#include "engine/base/status.h"

#include <stddef.h>

struct directory_page {
	char **names; /* owned, like each of them; by byte order */
	size_t count;
	bool has_more;
};

/*
 * dir_fd  borrowed; readable, its position is not used. after: "" for the start. max: at least 1.
 * Names reserved for haul and "." and ".." are left out. Given: directory_page_close().
 */
HAUL_MUST_USE haul_status directory_page_read(int dir_fd, const char *after, size_t max,
					      struct directory_page *ret_page);
void directory_page_close(struct directory_page *p);

#endif
