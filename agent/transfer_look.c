/* What the places are before anything moves: local ones by lstat, those of the peer by LOOKUP. */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "agent/local_place.h"
#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUGGEST_NAMES = 16 }; /* names of the source that are looked for at the destination */

static void add_source(struct transfer *t, const struct place_spec *spec, const struct landing_place *place)
{
	t->sources[t->source_count] = *place;
	t->source_specs[t->source_count++] = spec;
}

static void source_missing(struct transfer *t, const char *shown, haul_status st)
{
	char text[HAUL_FAULT_TEXT_MAX];
	int code = t->req->source_count == 1 ? EXIT_CLASS_NO_SOURCE : EXIT_CLASS_ENTRIES;

	(void)snprintf(text, sizeof(text), "%s: %s", shown, haul_status_text(st));
	transfer_error(t, code, st, text, NULL);
}

/* -L: a link is what it leads to. */
static void stand_for_target(const struct transfer *t, struct landing_place *p)
{
	if (t->req->follow_links && p->kind == ENTRY_LINK && p->target_kind)
		p->kind = p->target_kind;
}

static haul_status unfollowed(int err)
{
	if (err == ELOOP)
		return HAUL_LINK_LOOP;
	return err == ENOENT ? HAUL_LINK_DANGLES : haul_status_from_errno(err);
}

static void look_local_source(struct transfer *t, const struct place_spec *spec)
{
	struct landing_place p = { .text = spec->text, .path = spec->path, .has_slash = spec->has_slash };
	char shown[HAUL_FAULT_TEXT_MAX / 2];
	struct entry_facts facts;
	haul_status st = local_place_facts(spec->path, &facts);

	if (haul_failed(st)) {
		source_missing(t, haul_escape(spec->text, strlen(spec->text), shown, sizeof(shown)), st);
		return;
	}
	p.is_there = true;
	p.kind = facts.kind;
	errno = 0;
	if (p.kind == ENTRY_LINK && haul_ok(local_place_target(spec->path, &facts)))
		p.target_kind = facts.kind;
	if (p.kind == ENTRY_LINK && t->req->follow_links && !p.target_kind) {
		source_missing(t, haul_escape(spec->text, strlen(spec->text), shown, sizeof(shown)), unfollowed(errno));
		return;
	}
	stand_for_target(t, &p);
	add_source(t, spec, &p);
}

static bool look_local_destination(struct transfer *t)
{
	const struct place_spec *spec = t->req->destination;
	struct entry_facts facts;

	t->local_destination = strdup(spec->path);
	if (!t->local_destination) {
		transfer_error(t, EXIT_CLASS_BUG, HAUL_NO_MEMORY, "out of memory", NULL);
		return false;
	}
	t->destination =
	    (struct landing_place){ .text = spec->text, .path = t->local_destination, .has_slash = spec->has_slash };
	if (haul_ok(local_place_target(spec->path, &facts))) {
		t->destination.is_there = true;
		t->destination.kind = facts.kind;
	}
	return true;
}

/* Sources of one pull come from one share; the command line has made sure that they are of one peer. */
static bool same_share(struct transfer *t)
{
	for (size_t i = 1; i < t->req->source_count; i++) {
		if (strcmp(t->req->sources[i].share, t->req->sources[0].share) == 0)
			continue;
		transfer_error(t, EXIT_CLASS_USAGE, HAUL_USAGE, "the sources of one copy lie in one share",
			       "Copy from each share by itself");
		return false;
	}
	if (t->req->source_count <= MESSAGE_SOURCES_MAX)
		return true;
	transfer_error(t, EXIT_CLASS_USAGE, HAUL_USAGE, "at most 256 sources can be fetched at once",
		       "Name the directory they lie in");
	return false;
}

bool transfer_look_local(struct transfer *t)
{
	t->sources = calloc(t->req->source_count, sizeof(*t->sources));
	t->source_specs = calloc(t->req->source_count, sizeof(struct place_spec *));
	if (!t->sources || !t->source_specs) {
		transfer_error(t, EXIT_CLASS_BUG, HAUL_NO_MEMORY, "out of memory", NULL);
		return false;
	}
	if (!t->is_push)
		return same_share(t) && look_local_destination(t);
	for (size_t i = 0; i < t->req->source_count; i++)
		look_local_source(t, &t->req->sources[i]);
	if (t->source_count && t->is_local) {
		t->rights = UINT64_MAX;
		if (!look_local_destination(t))
			return false;
		transfer_local_suggest(t);
	}
	return t->source_count > 0;
}

/* ---- the peer's side ---- */

/* The paths to ask for; the array is filled with pointers into `strings`, which own them. */
struct question {
	struct text paths[MESSAGE_SOURCES_MAX];
	char *strings[MESSAGE_SOURCES_MAX];
	size_t count;
};

static void add_path(struct question *q, char *path /* taken */)
{
	if (!path || q->count == MESSAGE_SOURCES_MAX) {
		free(path);
		return;
	}
	q->strings[q->count] = path;
	q->paths[q->count++] = (struct text){ path, strlen(path) };
}

static char *below(const char *dir, const char *name)
{
	char *path = NULL;

	if (!*dir)
		return strdup(name);
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* Verify: is what is meant perhaps one level further down? Its name there, and some names of the source. */
static void add_suggestion_paths(struct transfer *t, struct question *q)
{
	const struct place_spec *src = &t->req->sources[0], *dst = t->req->destination;
	size_t len;
	const char *base = landing_base_name(src->path, &len);
	char name[HAUL_NAME_MAX + 1];
	struct dirent *de;
	DIR *dir;

	if (len == 0 || len > HAUL_NAME_MAX || (t->sources[0].kind == ENTRY_LINK && t->sources[0].has_slash))
		return;
	memcpy(name, base, len);
	name[len] = '\0';
	if (haul_failed(haul_component_check(name, len)))
		return;
	add_path(q, below(dst->path, name));
	if (t->sources[0].kind != ENTRY_DIRECTORY)
		return;
	dir = opendir(src->path);
	while (dir && q->count < SUGGEST_NAMES + 2 && (de = readdir(dir))) {
		if (haul_ok(haul_component_check(de->d_name, strlen(de->d_name))))
			add_path(q, below(dst->path, de->d_name));
	}
	if (dir)
		(void)closedir(dir);
}

/* A sync from a peer: what is here already, in the source. */
static void add_likeness(struct transfer *t, struct question *q)
{
	char *names[MESSAGE_SOURCES_MAX];
	size_t asked = q->count, count = transfer_names_of(t->local_destination, names, MESSAGE_SOURCES_MAX - q->count);

	for (size_t i = 0; i < count; i++) {
		add_path(q, below(t->req->sources[0].path, names[i]));
		free(names[i]);
	}
	t->like.names = q->count - asked;
}

/* The answers to those. */
static void note_likeness(struct transfer *t, const struct msg_found *m)
{
	size_t len;
	const char *name = landing_base_name(t->req->sources[0].path, &len);
	char path[HAUL_NAME_MAX + 1];
	struct stat st;
	int dir = open(*t->local_destination ? t->local_destination : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = t->req->source_count; i < m->found_count; i++)
		t->like.there += m->found[i].state == FOUND_THERE;
	(void)snprintf(path, sizeof(path), "%.*s", (int)len, name);
	t->like.is_nested_already = dir >= 0 && fstatat(dir, path, &st, 0) == 0;
	if (dir >= 0)
		(void)close(dir);
}

void transfer_look_remote(struct transfer *t)
{
	struct question q = { .count = 0 };
	struct message m = { .type = MSG_LOOKUP };

	if (t->is_push) {
		add_path(&q, strdup(t->req->destination->path));
		if (t->req->verb == TRANSFER_VERIFY)
			add_suggestion_paths(t, &q);
	} else {
		for (size_t i = 0; i < t->req->source_count; i++)
			add_path(&q, strdup(t->req->sources[i].path));
		if (transfer_may_be_meant(t))
			add_likeness(t, &q);
	}
	m.lookup = (struct msg_lookup){ .share = { t->remote->share, strlen(t->remote->share) },
					.paths = q.paths,
					.path_count = q.count };
	transfer_ask(t, &m);
	for (size_t i = 0; i < q.count; i++)
		free(q.strings[i]);
}

static haul_status state_status(enum found_state state)
{
	switch (state) {
	case FOUND_THERE:
		return HAUL_OK;
	case FOUND_MISSING:
		return HAUL_NOT_FOUND;
	case FOUND_DENIED:
		return HAUL_DENIED;
	case FOUND_LINK_IN_PATH:
		return HAUL_LINK_IN_PATH;
	case FOUND_NOT_DIRECTORY:
		return HAUL_NOT_DIRECTORY;
	}
	return HAUL_BUG;
}

static void found_sources(struct transfer *t, const struct msg_found *m)
{
	for (size_t i = 0; i < t->req->source_count; i++) {
		const struct place_spec *spec = &t->req->sources[i];
		const struct found *f = &m->found[i];
		struct landing_place p = { .text = spec->text,
					   .path = spec->path,
					   .has_slash = spec->has_slash,
					   .is_there = true,
					   .kind = f->kind,
					   .target_kind = f->target_kind };
		char shown[HAUL_FAULT_TEXT_MAX / 2];

		stand_for_target(t, &p);
		if (f->state == FOUND_THERE)
			add_source(t, spec, &p);
		else if (f->state == FOUND_DENIED)
			add_source(t, spec, &p); /* no right to look: JOB tells which right is missing */
		else
			source_missing(t, haul_escape(spec->text, strlen(spec->text), shown, sizeof(shown)),
				       state_status(f->state));
	}
}

/* False: told. Without the right to list, what is there cannot be told from nothing. */
static bool found_destination(struct transfer *t, const struct found *f)
{
	const struct place_spec *spec = t->req->destination;
	char shown[HAUL_FAULT_TEXT_MAX / 2], text[HAUL_FAULT_TEXT_MAX];

	t->destination = (struct landing_place){ .text = spec->text, .path = spec->path, .has_slash = spec->has_slash };
	if (f->state == FOUND_LINK_IN_PATH || f->state == FOUND_NOT_DIRECTORY ||
	    (f->state == FOUND_THERE && f->kind == ENTRY_LINK && f->target_kind == ENTRY_DIRECTORY)) {
		haul_status st = f->state == FOUND_NOT_DIRECTORY ? HAUL_NOT_DIRECTORY : HAUL_LINK_IN_PATH;

		(void)snprintf(text, sizeof(text), "%s: %s",
			       haul_escape(spec->text, strlen(spec->text), shown, sizeof(shown)), haul_status_text(st));
		transfer_error(t, EXIT_CLASS_ENTRIES, st, text, NULL);
		return false;
	}
	if (f->state == FOUND_THERE) {
		t->destination.is_there = true;
		t->destination.kind = f->kind;
	} else if (!*spec->path) {
		t->destination.is_there = true;
		t->destination.kind = ENTRY_DIRECTORY;
	}
	return true;
}

/* found[1] is DST/name, the rest are names of the source at DST; of a file there are none: DST is a directory. */
static void note_suggestion(struct transfer *t, const struct msg_found *m)
{
	bool is_directory = t->sources[0].kind == ENTRY_DIRECTORY;
	size_t len;
	const char *base = landing_base_name(t->req->sources[0].path, &len);
	char *path = NULL;

	if (m->found_count < (is_directory ? 3 : 2) || m->found[1].state != FOUND_THERE)
		return;
	if (is_directory != (m->found[1].kind == ENTRY_DIRECTORY) ||
	    (!is_directory && t->destination.kind != ENTRY_DIRECTORY))
		return;
	for (size_t i = 2; i < m->found_count; i++) {
		if (m->found[i].state == FOUND_THERE)
			return;
	}
	if (asprintf(&path, "%s%s%.*s", t->req->destination->path, *t->req->destination->path ? "/" : "", (int)len,
		     base) >= 0)
		t->suggestion = path;
}

void transfer_found(struct transfer *t, const struct msg_found *m)
{
	t->rights = m->rights;
	t->free_bytes = m->free_bytes;
	if (t->is_push) {
		if (!found_destination(t, &m->found[0])) {
			transfer_leave(t);
			return;
		}
		if (t->req->verb == TRANSFER_VERIFY)
			note_suggestion(t, m);
	} else {
		if (m->found_count != t->req->source_count + t->like.names) {
			transfer_fault(t, HAUL_BAD_FRAME, NULL, NULL);
			transfer_leave(t);
			return;
		}
		if (t->like.names)
			note_likeness(t, m);
		found_sources(t, m);
		if (t->source_count)
			transfer_local_suggest(t);
	}
	if (t->source_count == 0)
		transfer_leave(t);
	else
		transfer_land(t);
}
