/*
 * LOOKUP and LIST inside a share. Every step is relative to the share's handle and follows no link; a link is reported
 * as a link, with the kind of what it leads to only if that lies in the share too.
 */
#include "agent/serve_entries.h"

#include "certs/rights.h"
#include "engine/aside.h"
#include "engine/beneath.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/* What one entry takes in a LISTING besides its name, at most: five numbers and the heads of its fields. */
	ENTRY_OVERHEAD_BYTES = 64,
	PAGE_BYTES_MAX = MESSAGE_BYTES_MAX - 1024,
	/* Read in one pass over the directory: most of a big one's cost is the passes. At most 9 MiB of names. */
	PAGE_NAMES = 32 * 1024,
};

static enum found_state state_of(haul_status st)
{
	switch ((int)st.code) {
	case HAUL_CODE_NOT_FOUND:
	case HAUL_CODE_NAME_TOO_LONG:
		return FOUND_MISSING;
	case HAUL_CODE_LINK_IN_PATH:
		return FOUND_LINK_IN_PATH;
	case HAUL_CODE_NOT_DIRECTORY:
		return FOUND_NOT_DIRECTORY;
	default:
		return FOUND_DENIED;
	}
}

static void look_up(const struct serve_offer *o, int root_fd, const char *path, struct found *ret_found)
{
	struct entry_facts facts, target;
	haul_status st;

	/* The top's being there is told by the share's being offered. */
	if (*path && !(o->rights & (RIGHT_LIST | RIGHT_READ))) {
		ret_found->state = FOUND_DENIED;
		return;
	}
	st = beneath_stat(root_fd, path, &facts);
	/* A move out of here that died may have it aside: whoever may go on with that sees it where it belongs. */
	if (st.code == HAUL_CODE_NOT_FOUND && o->rights & RIGHT_DELETE && aside_restore_beside(root_fd, path))
		st = beneath_stat(root_fd, path, &facts);
	if (haul_failed(st)) {
		ret_found->state = state_of(st);
		return;
	}
	*ret_found =
	    (struct found){ .state = FOUND_THERE, .kind = facts.kind, .size = facts.size, .mtime = facts.mtime };
	if (facts.kind == ENTRY_LINK && haul_ok(beneath_stat_target(root_fd, path, &target)))
		ret_found->target_kind = target.kind;
}

void serve_look_up(struct serve_ask *a, const struct serve_offer *o, int root_fd)
{
	a->found = calloc(a->path_count + 1, sizeof(*a->found));
	if (!a->found) {
		serve_refuse(a, HAUL_NO_MEMORY, o);
		return;
	}
	for (size_t i = 0; i < a->path_count; i++)
		look_up(o, root_fd, a->paths[i].at, &a->found[i]);
	a->answer = (struct message){ .type = MSG_FOUND };
	a->answer.found = (struct msg_found){ .rights = o->rights, .found = a->found, .found_count = a->path_count };
}

static struct listing_entry entry_of(const char *name, const struct entry_facts *facts)
{
	return (struct listing_entry){ .name = { name, strlen(name) },
				       .kind = facts->kind,
				       .mode = facts->mode,
				       .size = facts->size,
				       .mtime = facts->mtime };
}

/* Entries for the names that the page still has, until the message is full. What vanished meanwhile is left out. */
static size_t take_names(struct serve_ask *a, int dir_fd)
{
	size_t bytes = 0, count = 0;

	for (; a->seen < a->page.count && count < MESSAGE_LISTING_MAX; a->seen++) {
		const char *name = a->page.names[a->seen];
		struct entry_facts facts;

		bytes += strlen(name) + ENTRY_OVERHEAD_BYTES;
		if (bytes > PAGE_BYTES_MAX)
			break;
		if (haul_ok(beneath_stat_at(dir_fd, name, &facts)))
			a->entries[count++] = entry_of(name, &facts);
	}
	return count;
}

/* The page after the one we have, or the first one. */
static haul_status next_page(struct serve_ask *a, int dir_fd)
{
	struct directory_page page;
	const char *after = a->page.count ? a->page.names[a->page.count - 1] : a->after.at;
	haul_status st = directory_page_read(dir_fd, after, PAGE_NAMES, &page);

	if (haul_failed(st))
		return st;
	directory_page_close(&a->page);
	a->page = page;
	a->seen = 0;
	return HAUL_OK;
}

/* Goes on until there is an entry, so that "more" never comes with nothing to go on from. */
static haul_status answer_entries(struct serve_ask *a, int dir_fd)
{
	size_t count = take_names(a, dir_fd);
	bool is_first = !a->page.count;
	haul_status st = HAUL_OK;

	while (haul_ok(st) && !count && (is_first || a->page.has_more || a->seen < a->page.count)) {
		if (a->seen == a->page.count)
			st = next_page(a, dir_fd);
		if (haul_ok(st))
			count = take_names(a, dir_fd);
		is_first = false;
	}
	a->answer = (struct message){ .type = MSG_LISTING };
	a->answer.listing = (struct msg_listing){ .entries = a->entries,
						  .entry_count = count,
						  .has_more = a->page.has_more || a->seen < a->page.count };
	return st;
}

static void list_directory(struct serve_ask *a, const struct serve_offer *o, int root_fd)
{
	haul_status st;
	int dir_fd;

	a->entries = calloc(MESSAGE_LISTING_MAX, sizeof(*a->entries));
	st = a->entries ? beneath_open(root_fd, a->paths[0].at, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, &dir_fd)
			: HAUL_NO_MEMORY;
	if (haul_ok(st)) {
		st = answer_entries(a, dir_fd);
		close(dir_fd);
	}
	if (haul_failed(st))
		serve_refuse(a, st, o);
}

/* Anything but a directory is listed as itself. */
static void list_itself(struct serve_ask *a, const struct serve_offer *o, const struct entry_facts *facts)
{
	const char *path = a->paths[0].at, *slash = strrchr(path, '/');

	a->entries = calloc(1, sizeof(*a->entries));
	if (!a->entries) {
		serve_refuse(a, HAUL_NO_MEMORY, o);
		return;
	}
	a->entries[0] = entry_of(slash ? slash + 1 : path, facts);
	a->answer = (struct message){ .type = MSG_LISTING };
	a->answer.listing = (struct msg_listing){ .entries = a->entries, .entry_count = a->after.len ? 0 : 1 };
}

void serve_list_entries(struct serve_ask *a, const struct serve_offer *o, int root_fd)
{
	struct entry_facts facts;
	haul_status st = beneath_stat(root_fd, a->paths[0].at, &facts);

	if (haul_failed(st))
		serve_refuse(a, st, o);
	else if (facts.kind == ENTRY_DIRECTORY)
		list_directory(a, o, root_fd);
	else
		list_itself(a, o, &facts);
}
