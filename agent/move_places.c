/*
 * What the user typed may lead through links on the way; the thing itself is not followed but for `link/`. The landing
 * is decided by the same table as for a copy (landing.h).
 */
#include "agent/move_places.h"

#include "agent/local_place.h"
#include "engine/base/escape.h"
#include "engine/beneath.h"
#include "engine/inside.h"
#include "engine/link_chain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_MAX = 192 };

static const char *shown(const char *text, char *buf)
{
	return haul_escape(text, strlen(text), buf, SHOWN_MAX);
}

static haul_status look(const struct place_spec *spec, struct landing_place *ret, struct entry_facts *ret_facts)
{
	struct landing_place p = { .text = spec->text, .path = spec->path, .has_slash = spec->has_slash };
	struct entry_facts target;
	char *path = local_place_bare(spec->path);
	haul_status st = path ? local_place_facts(path, ret_facts) : HAUL_NO_MEMORY;

	if (haul_ok(st)) {
		p.is_there = true;
		p.kind = ret_facts->kind;
		if (p.kind == ENTRY_LINK && haul_ok(local_place_target(path, &target)))
			p.target_kind = target.kind;
	}
	free(path);
	*ret = p;
	return st;
}

static haul_status look_all(struct move_places *p, const struct move_request *req,
			    void (*tell)(void *ctx, const char *path, haul_status st), void *ctx)
{
	struct entry_facts facts;
	haul_status st;

	p->sources = calloc(req->source_count, sizeof(*p->sources));
	p->looked = calloc(req->source_count, sizeof(*p->looked));
	if (!p->sources || !p->looked)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < req->source_count; i++) {
		struct move_source *s = &p->sources[p->count];

		st = look(&req->sources[i], &p->looked[p->count], &s->facts);
		s->spec = &req->sources[i];
		s->index = i;
		s->dir_fd = -1;
		if (haul_ok(st)) {
			p->count++;
			continue;
		}
		tell(ctx, req->sources[i].text, st);
	}
	st = look(req->destination, &p->destination, &facts);
	if (haul_failed(st) && st.code != HAUL_NOT_FOUND.code)
		return st;
	return p->count ? HAUL_OK : HAUL_NOT_FOUND;
}

static haul_status decide(struct move_places *p, const struct move_request *req, struct haul_fault *fault)
{
	const struct landing_request landing = { .sources = p->looked,
						 .source_count = p->count,
						 .is_several = req->source_count > 1,
						 .destination = &p->destination,
						 .as_name = req->as_name };

	return landing_decide(&landing, &p->landing, fault);
}

static haul_status open_source(struct move_source *s, bool is_contents, struct haul_fault *fault)
{
	struct local_place at;
	char text[SHOWN_MAX];
	haul_status st;

	if (!is_contents) {
		char *path = local_place_bare(s->spec->path);

		st = path ? local_place_open(&at, path, fault) : HAUL_NO_MEMORY;
		free(path);
		if (haul_failed(st))
			return st;
		s->dir_fd = at.dir_fd;
		s->name = at.name; /* both are ours now */
		s->facts = at.facts;
		if (at.is_mount_point || at.is_root)
			return haul_fault_set(fault, HAUL_USAGE,
					      "%s is a mount point: with a slash at its end, its contents move",
					      shown(s->spec->text, text));
		return HAUL_OK;
	}
	s->dir_fd = open(s->spec->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return haul_fault_errno(fault, errno, "open %s", shown(s->spec->text, text));
	return beneath_stat_handle(s->dir_fd, &s->facts);
}

/* The nearest directory above the root, or the root itself, that is there. */
static haul_status open_root(struct move_places *p, struct haul_fault *fault)
{
	const char *root = *p->landing.root ? p->landing.root : ".";
	char *path = local_place_bare(root), *cut = path ? path + strlen(path) : NULL, text[SHOWN_MAX];
	haul_status st = HAUL_OK;
	const char *missing;

	if (!path)
		return HAUL_NO_MEMORY;
	for (;;) {
		p->root_fd = open(*path ? path : *root == '/' ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (p->root_fd >= 0 || errno != ENOENT || !*path)
			break;
		while (cut > path && *--cut != '/')
			;
		*cut = '\0';
	}
	if (p->root_fd < 0)
		st = haul_fault_errno(fault, errno, "open %s", shown(root, text));
	for (missing = root + strlen(path); *missing == '/'; missing++)
		;
	p->missing = haul_ok(st) ? local_place_bare(strcmp(path, root) && *path + *missing ? missing : "") : NULL;
	free(path);
	return haul_failed(st) || p->missing ? st : HAUL_NO_MEMORY;
}

static haul_status refuse(struct haul_fault *fault, const char *source, const char *why)
{
	char text[SHOWN_MAX];

	return haul_fault_set(fault, HAUL_USAGE, "%s %s: nothing was moved", shown(source, text), why);
}

/* Whether the directory behind `fd` is the one at `tree_name` in `tree_fd` (NULL: tree_fd itself), or lies in it. */
static haul_status look_inside(int fd, int tree_fd, const char *tree_name, bool *ret_is_inside,
			       struct haul_fault *fault)
{
	int tree = tree_name ? openat(tree_fd, tree_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : tree_fd;
	haul_status st = tree < 0 ? haul_status_from_errno(errno) : directory_is_inside(fd, tree, ret_is_inside);

	if (tree >= 0 && tree_name)
		(void)close(tree);
	return haul_ok(st)
		   ? st
		   : haul_fault_set(fault, st, "it could not be found out what lies in what: %s", haul_status_text(st));
}

/* Whether what stands at the landing name is the source by another name, or holds it. */
static haul_status check_taken(const struct move_places *p, const struct move_source *s, const char *name,
			       struct haul_fault *fault)
{
	struct entry_facts there;
	bool holds = false;
	haul_status st = HAUL_OK;

	if (*p->missing || haul_failed(beneath_stat_at(p->root_fd, name, &there)))
		return HAUL_OK;
	if (entry_is_same(&there, &s->facts))
		return refuse(fault, s->spec->text, "and what stands where it would land are one and the same file");
	if (p->rule == MOVE_REPLACE && s->name &&
	    (link_leads_to(s->dir_fd, s->name, &there) || link_leads_to(p->root_fd, name, &s->facts)))
		return refuse(fault, s->spec->text, "and what stands where it would land are one and the same file");
	if (there.kind == ENTRY_DIRECTORY)
		st = look_inside(s->dir_fd, p->root_fd, name, &holds, fault);
	return holds ? refuse(fault, s->spec->text, "lies in the directory that stands where it would land") : st;
}

static haul_status check_source(const struct move_places *p, const struct move_source *s, const char *name,
				struct haul_fault *fault)
{
	bool holds = false;

	if (s->facts.kind == ENTRY_DIRECTORY) {
		haul_status st = look_inside(p->root_fd, s->dir_fd, s->name, &holds, fault);

		if (haul_failed(st))
			return st;
		if (holds)
			return refuse(fault, s->spec->text, "cannot move into itself");
	}
	return name ? check_taken(p, s, name, fault) : HAUL_OK;
}

static haul_status open_all(struct move_places *p, struct haul_fault *fault)
{
	haul_status st = open_root(p, fault);

	for (size_t i = 0; haul_ok(st) && i < p->count; i++) {
		const struct landed *at = &p->landing.landed[i];
		bool is_contents = p->looked[i].has_slash || at->follow || !at->name;

		st = open_source(&p->sources[i], is_contents, fault);
		if (haul_ok(st))
			st = check_source(p, &p->sources[i], at->name, fault);
	}
	return st;
}

haul_status move_places_open(struct move_places *p, const struct move_request *req,
			     void (*tell)(void *ctx, const char *path, haul_status st), void *ctx,
			     struct haul_fault *fault)
{
	haul_status st;

	*p = (struct move_places){ .root_fd = -1, .above_fd = -1, .rule = req->rule };
	*fault = (struct haul_fault){ 0 };
	st = look_all(p, req, tell, ctx);
	if (haul_ok(st))
		st = decide(p, req, fault);
	if (haul_ok(st))
		st = open_all(p, fault);
	if (haul_failed(st))
		move_places_close(p);
	return st;
}

void move_places_close(struct move_places *p)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->sources[i].dir_fd >= 0)
			(void)close(p->sources[i].dir_fd);
		free(p->sources[i].name);
	}
	free(p->sources);
	free(p->looked);
	landing_close(&p->landing);
	if (p->root_fd >= 0)
		(void)close(p->root_fd);
	free(p->missing);
	if (p->above_fd >= 0)
		(void)close(p->above_fd);
	free(p->made_path);
	*p = (struct move_places){ .root_fd = -1, .above_fd = -1 };
}

haul_status move_places_make_root(struct move_places *p, struct haul_fault *fault)
{
	const struct make_path_config cfg = { .sync = true, .mode = 0777, .owner = OWNER_NONE };
	char text[SHOWN_MAX];
	haul_status st;
	int fd = -1;

	if (!*p->missing)
		return HAUL_OK;
	st = beneath_make_path(p->root_fd, p->missing, &cfg, &p->made);
	if (haul_ok(st))
		st = beneath_open(p->root_fd, p->missing, O_RDONLY | O_DIRECTORY, 0, &fd);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s cannot be made: %s", shown(p->landing.root, text),
				      haul_status_text(st));
	p->made_path = strdup(p->missing); /* without memory they stay */
	p->above_fd = p->root_fd;
	p->root_fd = fd;
	*p->missing = '\0';
	return HAUL_OK;
}

void move_places_unmake(struct move_places *p)
{
	for (; p->made_path && p->made; p->made--) {
		const char *name;
		int dir_fd = -1;
		bool is_gone;

		if (haul_failed(beneath_parent(p->above_fd, p->made_path, &dir_fd, &name)))
			return;
		is_gone = unlinkat(dir_fd, name, AT_REMOVEDIR) == 0;
		(void)close(dir_fd);
		if (!is_gone || name == p->made_path)
			return;
		for (char *end = p->made_path + (name - p->made_path); end > p->made_path && end[-1] == '/'; end--)
			end[-1] = '\0';
	}
}
