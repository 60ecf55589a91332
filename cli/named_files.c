/* Places are compared by their real paths, and by device and inode on the way up, which sees through hard links and
 * bind mounts. A place that does not exist is compared by the real path of the directory it would lie in. */
#include "cli/named_files.h"

#include "agent/place_spec.h"
#include "engine/base/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct named_file {
	const char *option, *text; /* as typed; held */
	char *path;                /* real; owned; NULL: not given, or nothing a command works on */
};

static const struct {
	enum option_id id;
	const char *name;
} naming[] = { { OPT_TRACE, "--trace" }, { OPT_FAILED_TO, "--failed-to" }, { OPT_LOG_FILE, "--log-file" } };

enum { NAMING = sizeof(naming) / sizeof(naming[0]) };

static char *beneath(const char *dir, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", strcmp(dir, "/") != 0 ? dir : "", name) < 0 ? NULL : path;
}

/* Links resolved; what is not there yet lies in its directory. NULL: not even that is there. Given: free(). */
static char *real_path(const char *path)
{
	char *real = realpath(path, NULL), *copy, *slash, *dir;
	size_t len = strlen(path);

	if (real)
		return real;
	while (len > 1 && path[len - 1] == '/')
		len--;
	copy = strndup(path, len);
	if (!copy)
		return NULL;
	slash = strrchr(copy, '/');
	if (slash)
		*slash = '\0';
	dir = realpath(!slash ? "." : *copy ? copy : "/", NULL);
	if (dir)
		real = beneath(dir, slash ? slash + 1 : copy);
	free(dir);
	free(copy);
	return real;
}

static bool is_one(const char *path, const struct stat *as)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == as->st_dev && st.st_ino == as->st_ino;
}

/* Whether `path` is `tree` or lies in it; both are real paths, `path` is long enough to be cut in place. */
static bool is_within(const char *path, const char *tree)
{
	size_t len = strcmp(tree, "/") != 0 ? strlen(tree) : 0;
	char *at = strncmp(path, tree, len) != 0 || (path[len] && path[len] != '/') ? strdup(path) : NULL;
	struct stat st;
	bool found = !at;

	if (at && stat(tree, &st) == 0) {
		for (char *slash; !found && *at; *slash = '\0') {
			found = is_one(at, &st);
			slash = strrchr(at, '/');
		}
	}
	free(at);
	return found;
}

/* A regular file, or what would become one. */
static struct named_file file_of(const struct invocation *inv, size_t i)
{
	struct named_file f = { .option = naming[i].name, .text = invocation_value(inv, naming[i].id) };
	struct stat st;

	if (f.text && *f.text && (stat(f.text, &st) != 0 || S_ISREG(st.st_mode)))
		f.path = real_path(f.text);
	return f;
}

static haul_status refuse(const struct named_file *f, const char *why, const char *place, struct problem *problem)
{
	char file[HAUL_ESCAPED_MAX / 16], shown[HAUL_ESCAPED_MAX / 16];

	return problem_usage(problem, "Name another file, outside of it", "%s %s: that %s %s", f->option,
			     haul_escape(f->text, strlen(f->text), file, sizeof(file)), why,
			     haul_escape(place, strlen(place), shown, sizeof(shown)));
}

static haul_status check_source(const struct named_file *f, const struct place_spec *source, struct problem *problem)
{
	char *tree = source->is_remote ? NULL : real_path(source->path);
	bool is_bad = tree && is_within(f->path, tree);

	free(tree);
	return is_bad ? refuse(f, "is or lies in", source->text, problem) : HAUL_OK;
}

/* The name a source gets in DST; NULL: its contents land there. Given: free(). */
static char *landing_name(const struct place_spec *source, const char *as_name)
{
	const char *slash = strrchr(source->path, '/');

	if (source->has_slash || !*source->path)
		return NULL;
	return strdup(as_name ? as_name : slash ? slash + 1 : source->path);
}

static haul_status check_landing(const struct invocation *inv, const struct named_file *f,
				 const struct place_spec *source, const struct place_spec *destination,
				 struct problem *problem)
{
	char *root = real_path(destination->path), *path = NULL;
	char *name = inv->verb->verb == VERB_VERIFY ? NULL : landing_name(source, invocation_value(inv, OPT_AS));
	bool is_bad;

	if (root && name)
		path = beneath(root, name);
	is_bad = root && (!strcmp(f->path, root) || is_within(f->path, path ? path : root));
	free(root);
	free(name);
	free(path);
	return is_bad ? refuse(f, "is or lies in what arrives at", destination->text, problem) : HAUL_OK;
}

static haul_status check_places(const struct invocation *inv, const struct named_file *f,
				const struct place_spec *places, size_t count, struct problem *problem)
{
	bool has_destination = inv->verb->verb != VERB_REMOVE;
	size_t sources = count - has_destination;
	haul_status st = HAUL_OK;

	for (size_t i = 0; i < sources && haul_ok(st); i++) {
		st = check_source(f, &places[i], problem);
		if (haul_ok(st) && has_destination && !places[sources].is_remote)
			st = check_landing(inv, f, &places[i], &places[sources], problem);
	}
	return st;
}

/* What is no place is left to the verb, which says why. */
static haul_status check_operands(const struct invocation *inv, const struct named_file *f, struct problem *problem)
{
	struct place_spec *places = calloc(inv->operand_count, sizeof(*places));
	haul_status st = HAUL_OK;
	size_t count = 0;

	if (!places)
		return problem_no_memory(problem);
	while (count < inv->operand_count &&
	       haul_ok(place_spec_parse(inv->operands[count], &places[count], &(struct haul_fault){ 0 })))
		count++;
	if (count == inv->operand_count)
		st = check_places(inv, f, places, count, problem);
	while (count)
		place_spec_close(&places[--count]);
	free(places);
	return st;
}

haul_status named_files_check(const struct invocation *inv, struct problem *problem)
{
	bool has_places = inv->verb && inv->operand_count && !invocation_has(inv, OPT_HELP) &&
			  inv->verb->verb & (VERB_COPY | VERB_SYNC | VERB_VERIFY | VERB_MOVE | VERB_REMOVE);
	struct named_file files[NAMING];
	haul_status st = HAUL_OK;

	for (size_t i = 0; i < NAMING; i++)
		files[i] = file_of(inv, i);
	for (size_t i = 0; i < NAMING && haul_ok(st); i++) {
		for (size_t k = 0; k < i && haul_ok(st) && files[i].path; k++)
			if (files[k].path && is_within(files[i].path, files[k].path))
				st = refuse(&files[i], "is the file of", files[k].option, problem);
		if (haul_ok(st) && has_places && files[i].path)
			st = check_operands(inv, &files[i], problem);
	}
	for (size_t i = 0; i < NAMING; i++)
		free(files[i].path);
	return st;
}
