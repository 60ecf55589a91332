/*
 * A copy within one machine must not meet itself: not the file it is read from under whatever name, not the tree it is
 * read from. Looked at before anything is made or written; refused as a whole, both places named.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "engine/base/escape.h"
#include "engine/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A name, and what it leads to. */
struct looked {
	struct stat self, target;
	bool is_there, leads;
};

static bool look(const char *path, bool follow, struct looked *ret)
{
	*ret = (struct looked){ .is_there = false };
	ret->leads = stat(path, &ret->target) == 0;
	ret->is_there = follow ? ret->leads : lstat(path, &ret->self) == 0;
	if (follow && ret->leads)
		ret->self = ret->target;
	return ret->is_there;
}

static bool is_one(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Two names of one thing, or one that leads to the other: what is written would be what is read. */
static bool is_same_thing(const struct looked *a, const struct looked *b)
{
	if (!a->is_there || !b->is_there)
		return false;
	return is_one(&a->self, &b->self) || (a->leads && is_one(&a->target, &b->self)) ||
	       (b->leads && is_one(&a->self, &b->target));
}

static char *without_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return strndup(path, len);
}

static char *landing_path(const struct transfer *t, size_t i)
{
	const char *root = *t->landing.root ? t->landing.root : ".", *name = t->landing.landed[i].name;
	char *path = NULL;

	if (!name)
		return without_slashes(root);
	return asprintf(&path, "%s/%s", root, name) < 0 ? NULL : path;
}

/* The directory itself, or the deepest one above it that is there already; -1: none. */
static int open_nearest(const char *path)
{
	char *at = without_slashes(path);
	int fd = -1;

	while (at) {
		char *slash;

		fd = open(*at ? at : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT || !*at || !strcmp(at, "/"))
			break;
		slash = strrchr(at, '/');
		if (slash)
			slash[slash == at] = '\0';
		else
			*at = '\0';
	}
	free(at);
	return fd;
}

static bool lies_in_source(const char *root, const char *source)
{
	int dir = open_nearest(root), tree = open(source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_inside = false;

	/* A way up that cannot be followed proves nothing; the scan would name what it cannot enter. */
	if (dir >= 0 && tree >= 0 && haul_failed(directory_is_inside(dir, tree, &is_inside)))
		is_inside = false;
	if (dir >= 0)
		(void)close(dir);
	if (tree >= 0)
		(void)close(tree);
	return is_inside;
}

static void refuse(struct transfer *t, size_t i, const char *to, const char *fmt)
{
	char from_text[TRANSFER_SHOWN_MAX / 4], to_text[TRANSFER_SHOWN_MAX / 4], text[TRANSFER_SHOWN_MAX];
	const char *from = t->sources[i].text;

	(void)snprintf(text, sizeof(text), "%s and %s: %s",
		       haul_escape(from, strlen(from), from_text, sizeof(from_text)),
		       haul_escape(to, strlen(to), to_text, sizeof(to_text)), fmt);
	transfer_error(t, EXIT_CLASS_USAGE, HAUL_SAME_FILE, text, NULL);
}

static bool is_followed(const struct transfer *t, size_t i)
{
	return t->landing.landed[i].follow || (t->req->follow_links && !t->landing.landed[i].is_link);
}

static bool refused(struct transfer *t, size_t i)
{
	char *from = without_slashes(t->sources[i].path), *to = landing_path(t, i);
	bool is_tree = t->sources[i].kind == ENTRY_DIRECTORY || t->landing.landed[i].follow, is_same = false;
	bool is_inside = false;
	struct looked source, landing;

	if (from && to) {
		is_same = look(from, is_followed(t, i), &source) && look(to, false, &landing) &&
			  is_same_thing(&source, &landing);
		is_inside = !is_same && is_tree && lies_in_source(t->landing.root, from);
	}
	if (is_same)
		refuse(t, i, to, is_tree ? "one and the same directory" : "one and the same file");
	else if (is_inside)
		refuse(t, i, to, "the second lies in the first, which would be copied into itself");
	free(from);
	free(to);
	return is_same || is_inside;
}

bool transfer_is_onto_itself(struct transfer *t)
{
	bool any = false;

	for (size_t i = 0; i < t->landing.count && t->req->verb == TRANSFER_COPY; i++)
		any = refused(t, i) || any;
	return any;
}
