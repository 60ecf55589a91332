/* The local counterpart: a directory's entries in byte order, a page at a time, or a file as itself. */
#include "agent/listing.h"

#include "agent/directory_page.h"
#include "agent/exit_class.h"
#include "agent/listing_parts.h"
#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOCAL_PAGE_NAMES = 16384, SHOWN_MAX = 256 };

int listing_local_failed(const struct listing_observer *obs, const char *path, haul_status st)
{
	struct transfer_problem problem = {
		.code = st.code, .exit_code = exit_class_of(st), .side = "local", .path = path
	};
	char shown[SHOWN_MAX];
	struct haul_fault fault;

	haul_escape(path, strlen(path), shown, sizeof(shown));
	(void)haul_fault_set(&fault, st, "%s: %s", shown, haul_status_text(st));
	problem.text = fault.text;
	if (problem.exit_code == EXIT_CLASS_ENTRIES)
		problem.exit_code = EXIT_CLASS_NO_SOURCE;
	obs->on_error(obs->ctx, &problem);
	return problem.exit_code;
}

static void tell(const struct listing_observer *obs, const char *name, const struct entry_facts *facts)
{
	struct remote_entry entry = { .name = name,
				      .name_len = strlen(name),
				      .kind = facts->kind,
				      .mode = facts->mode,
				      .size = facts->size,
				      .mtime = facts->mtime };

	obs->on_entry(obs->ctx, &entry);
}

static haul_status list_directory(int dir_fd, const struct listing_observer *obs)
{
	char last[HAUL_NAME_MAX + 1] = "";
	struct directory_page page;
	struct entry_facts facts;
	bool has_more = true;
	haul_status st;

	while (has_more) {
		st = directory_page_read(dir_fd, last, LOCAL_PAGE_NAMES, &page);
		if (haul_failed(st))
			return st;
		for (size_t i = 0; i < page.count; i++)
			if (haul_ok(beneath_stat_at(dir_fd, page.names[i], &facts)))
				tell(obs, page.names[i], &facts);
		if (page.count)
			memcpy(last, page.names[page.count - 1], strlen(page.names[page.count - 1]) + 1);
		has_more = page.has_more;
		directory_page_close(&page);
	}
	return HAUL_OK;
}

/* The last component without slashes at its end; given, NULL without memory. */
static char *name_of(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	return strndup(path + start, end - start);
}

static haul_status list_itself(const char *path, const struct listing_observer *obs)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct entry_facts facts;
	char *name;
	haul_status st;

	if (fd < 0)
		return haul_status_from_errno(errno);
	st = beneath_stat_handle(fd, &facts);
	close(fd);
	if (haul_failed(st))
		return st;
	name = name_of(path);
	if (!name)
		return HAUL_NO_MEMORY;
	tell(obs, name, &facts);
	free(name);
	return HAUL_OK;
}

int listing_run_local(const char *path, const struct listing_observer *obs)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	haul_status st;

	if (fd >= 0) {
		st = list_directory(fd, obs);
		close(fd);
	} else if (errno == ENOTDIR) {
		st = list_itself(path, obs);
	} else {
		st = haul_status_from_errno(errno);
	}
	return haul_ok(st) ? EXIT_CLASS_OK : listing_local_failed(obs, path, st);
}
