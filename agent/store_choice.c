/* A doomed directory is walked before it is noted, but only where there are filters. */
#include "agent/store_choice.h"

#include "agent/mirror.h"
#include "agent/store_meta.h"
#include "certs/rights.h"
#include "engine/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WALK_DEPTH_MAX = 100 /* a handle each; deeper down everything is taken for protected */ };

static char *path_of(const struct surplus *at)
{
	char *path = NULL;

	return asprintf(&path, "%s%s%s", at->dir, *at->dir ? "/" : "", at->name) < 0 ? NULL : path;
}

bool store_choice_protects(const struct store *s, const struct surplus *at, bool is_directory)
{
	unsigned landing = (s->cfg.choice_flags & CHOICE_CONTENTS ? CHOICE_LANDS_AS_CONTENTS : 0u) |
			   (s->cfg.choice_flags & CHOICE_NAMED ? CHOICE_LANDS_BY_NAME : 0u);
	char *path;
	bool protects;

	if (!s->cfg.choice)
		return false;
	path = path_of(at);
	protects = !path || choice_protects(s->cfg.choice, path, is_directory, landing);
	free(path);
	return protects;
}

bool store_choice_is_directory(int dir_fd, const char *name, unsigned char d_type)
{
	struct entry_facts facts;

	if (d_type != DT_UNKNOWN)
		return d_type == DT_DIR;
	return haul_ok(beneath_stat_at(dir_fd, name, &facts)) && facts.kind == ENTRY_DIRECTORY;
}

typedef haul_status visit_fn(const struct store *s, const struct surplus *at, bool is_directory, unsigned depth,
			     void *ctx);

/* Every name in the directory `at`, until a visit fails. What cannot be opened, or is mounted there, has none. */
static haul_status visit_all(const struct store *s, const struct surplus *at, unsigned depth, visit_fn *visit,
			     void *ctx)
{
	char *path = path_of(at);
	struct surplus child = { .dir = path, .dir_fd = -1, .is_blind = at->is_blind };
	haul_status st = HAUL_OK;
	struct dirent *de;
	DIR *dir = NULL;

	if (!path)
		return HAUL_NO_MEMORY;
	if (haul_ok(beneath_open_child(at->dir_fd, at->name, O_RDONLY | O_DIRECTORY, &child.dir_fd))) {
		dir = fdopendir(child.dir_fd);
		if (!dir)
			(void)close(child.dir_fd);
	}
	while (dir && haul_ok(st) && (de = readdir(dir))) {
		child.name = de->d_name;
		if (haul_ok(haul_component_check(de->d_name, strlen(de->d_name))) && !mirror_protects(de->d_name))
			st = visit(s, &child, store_choice_is_directory(child.dir_fd, de->d_name, de->d_type), depth,
				   ctx);
	}
	if (dir)
		(void)closedir(dir);
	free(path);
	return st;
}

/* HAUL_EXISTS: found. */
static haul_status find_protected(const struct store *s, const struct surplus *at, bool is_directory, unsigned depth,
				  void *ctx)
{
	if (depth > WALK_DEPTH_MAX || store_choice_protects(s, at, is_directory))
		return HAUL_EXISTS;
	return is_directory ? visit_all(s, at, depth + 1, find_protected, ctx) : HAUL_OK;
}

static haul_status note_piece(const struct store *s, const struct surplus *at, bool is_directory, unsigned depth,
			      void *ctx);

static haul_status note_at(const struct store *s, const struct surplus *at, const struct entry_facts *facts,
			   unsigned depth)
{
	bool is_directory = facts->kind == ENTRY_DIRECTORY && s->cfg.choice;
	haul_status st = is_directory ? visit_all(s, at, depth + 1, find_protected, NULL) : HAUL_OK;

	if (st.code == HAUL_CODE_EXISTS)
		return visit_all(s, at, depth + 1, note_piece, NULL);
	if (haul_ok(st))
		mirror_note(s->cfg.mirror, at->dir, at->name, facts, at->is_blind);
	return st;
}

static haul_status note_piece(const struct store *s, const struct surplus *at, bool is_directory, unsigned depth,
			      void *ctx)
{
	struct entry_facts facts;

	(void)ctx;
	if (depth > WALK_DEPTH_MAX || store_choice_protects(s, at, is_directory) ||
	    haul_failed(beneath_stat_at(at->dir_fd, at->name, &facts)))
		return HAUL_OK;
	return note_at(s, at, &facts, depth);
}

haul_status store_choice_note(const struct store *s, const struct surplus *at, const struct entry_facts *facts)
{
	return note_at(s, at, facts, 0);
}

static bool is_newer(const struct store *s, const struct entry_time *a, const struct entry_time *b)
{
	bool is_later = a->sec != b->sec ? a->sec > b->sec : a->nsec > b->nsec;

	return is_later && !store_time_equal(s, a, b);
}

bool store_lets_stay(const struct store *s, struct recv_entry *e)
{
	const uint32_t flags = s->cfg.choice_flags;
	bool is_directory = e->facts.kind == ENTRY_DIRECTORY;

	if (e->was_held || !(atomic_load(&s->rights) & RIGHT_LIST))
		return false; /* what the device may not see counts as a name that is taken */
	if (!e->has_seen) {
		if (flags & CHOICE_EXISTING && is_directory)
			e->node->is_missing = true;
		return flags & CHOICE_EXISTING;
	}
	if (is_directory)
		return false;
	if (flags & CHOICE_ABSENT)
		return true;
	return flags & CHOICE_UPDATE && e->facts.kind == ENTRY_FILE && e->seen.kind == ENTRY_FILE &&
	       is_newer(s, &e->seen.mtime, &e->facts.mtime);
}
