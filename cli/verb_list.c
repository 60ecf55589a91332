/* haul list: peers, a peer's shares, or the entries of a place. */
#include "cli/run.h"

#include "cli/changes.h"
#include "cli/events.h"
#include "cli/copy_request.h"
#include "cli/run_peers.h"
#include "cli/sizes.h"

#include "agent/listing.h"
#include "agent/listing_partials.h"
#include "agent/peers.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct list_view {
	struct console *c;
	uint64_t count; /* shares or entries */
};

static void on_peer(void *ctx, const char *name, const char *software, const char *address, const char *known_as)
{
	struct list_view *v = ctx;
	struct json j;

	(void)name;
	if (!v->c->is_json) {
		console_note(v->c, "%s at %s%s%s", software, address, known_as ? ", where this machine is called " : "",
			     known_as ? known_as : "");
		return;
	}
	json_open(&j, v->c->out, "peer");
	json_text(&j, "software", software);
	json_text(&j, "address", address);
	json_text(&j, "known_as", known_as);
	json_close(&j);
}

static void on_share(void *ctx, const struct remote_share *s)
{
	struct list_view *v = ctx;
	char rights[128], free_space[SIZE_TEXT_MAX], total[SIZE_TEXT_MAX];
	struct json j;

	v->count++;
	peer_rights_text(s->rights, rights, sizeof(rights));
	if (!v->c->is_json) {
		console_out(v->c, "%-16s %-24s %s free of %s\n", s->name, rights, size_text(s->free_bytes, free_space),
			    size_text(s->total_bytes, total));
		return;
	}
	json_open(&j, v->c->out, "share");
	json_text(&j, "name", s->name);
	json_text(&j, "rights", rights);
	json_uint(&j, "free_bytes", s->free_bytes);
	json_uint(&j, "total_bytes", s->total_bytes);
	json_close(&j);
}

static void entry_event(struct console *c, const struct remote_entry *e)
{
	struct json j;

	json_open(&j, c->out, "entry");
	json_path(&j, "name", e->name, e->name_len);
	json_text(&j, "kind", entry_kind_text(e->kind));
	json_uint(&j, "mode", e->mode);
	json_uint(&j, "size", e->size);
	json_int(&j, "mtime", e->mtime.sec);
	json_uint(&j, "mtime_nsec", e->mtime.nsec);
	json_close(&j);
}

/* "drwxr-xr-x" */
static const char *mode_text(const struct remote_entry *e, char ret_text[11])
{
	static const char kinds[] = {
		[ENTRY_FILE] = '-',   [ENTRY_DIRECTORY] = 'd',   [ENTRY_LINK] = 'l',        [ENTRY_FIFO] = 'p',
		[ENTRY_SOCKET] = 's', [ENTRY_CHAR_DEVICE] = 'c', [ENTRY_BLOCK_DEVICE] = 'b'
	};

	ret_text[0] = (unsigned)e->kind < sizeof(kinds) && kinds[e->kind] ? kinds[e->kind] : '?';
	for (unsigned i = 0; i < 9; i++)
		ret_text[i + 1] = e->mode & (0400U >> i) ? "rwxrwxrwx"[i] : '-';
	if (e->mode & 04000)
		ret_text[3] = e->mode & 0100 ? 's' : 'S';
	if (e->mode & 02000)
		ret_text[6] = e->mode & 0010 ? 's' : 'S';
	if (e->mode & 01000)
		ret_text[9] = e->mode & 0001 ? 't' : 'T';
	ret_text[10] = '\0';
	return ret_text;
}

static const char *time_text(const struct entry_time *t, char *ret_text, size_t cap)
{
	time_t seconds = (time_t)t->sec;
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(ret_text, cap, "%Y-%m-%d %H:%M", &local))
		(void)snprintf(ret_text, cap, "%lld", (long long)t->sec);
	return ret_text;
}

static void on_entry(void *ctx, const struct remote_entry *e)
{
	struct list_view *v = ctx;
	char mode[11], size[SIZE_TEXT_MAX] = "", when[64], name[HAUL_ESCAPED_MAX];

	v->count++;
	if (v->c->is_json) {
		entry_event(v->c, e);
		return;
	}
	if (e->kind == ENTRY_FILE)
		size_text(e->size, size);
	console_out(v->c, "%s %9s  %s  %s%s\n", mode_text(e, mode), size, time_text(&e->mtime, when, sizeof(when)),
		    haul_escape(e->name, e->name_len, name, sizeof(name)), e->kind == ENTRY_DIRECTORY ? "/" : "");
}

static void partial_event(struct console *c, const struct remote_partial *p)
{
	struct json j;

	json_open(&j, c->out, "partial");
	json_text(&j, "id", p->id);
	if (*p->path)
		json_path(&j, "path", p->path, p->path_len);
	else
		json_text(&j, "path", NULL);
	json_uint(&j, "size", p->size);
	json_uint(&j, "there_bytes", p->there_bytes);
	json_int(&j, "touched", p->touched_s);
	if (p->is_remote)
		json_bool(&j, "yours", p->is_yours);
	else
		json_text(&j, "from", p->from);
	json_close(&j);
}

static void on_partial(void *ctx, const struct remote_partial *p)
{
	struct list_view *v = ctx;
	char there[SIZE_TEXT_MAX], size[SIZE_TEXT_MAX], age[SIZE_TEXT_MAX], path[HAUL_ESCAPED_MAX];
	double age_s = difftime(time(NULL), (time_t)p->touched_s);
	const char *whose = p->is_remote ? (p->is_yours ? "yours" : "another device's") : p->from ? p->from : "unknown";

	v->count++;
	if (v->c->is_json) {
		partial_event(v->c, p);
		return;
	}
	console_out(v->c, "%9s of %9s  %9s ago  %-16s  %s\n", size_text(p->there_bytes, there),
		    size_text(p->size, size), duration_text(age_s > 0 ? age_s : 0, age), whose,
		    *p->path ? haul_escape(p->path, p->path_len, path, sizeof(path)) : p->id);
}

static void on_error(void *ctx, const struct transfer_problem *p)
{
	console_error(((struct list_view *)ctx)->c, p);
}

static const struct problem *needs_share(const struct place_spec *place, struct problem *problem)
{
	(void)problem_usage(problem, "haul list shows the shares of a peer", "%s names no share: write %sSHARE",
			    place->text, place->text);
	return problem;
}

static int list_place(const struct home *h, const struct invocation *inv, const struct place_spec *place,
		      struct console *c)
{
	struct list_view v = { .c = c };
	struct listing_observer obs = { &v, on_peer, on_share, on_entry, on_partial, on_error };
	bool partials = invocation_has(inv, OPT_PARTIALS);
	struct problem problem;
	uint32_t timeout_ms;
	int code;

	if (haul_failed(copy_request_connect_timeout(inv, &timeout_ms, &problem)))
		return run_refuse(c, &problem);
	if (partials && place->is_remote && !place->share)
		return run_refuse(c, needs_share(place, &problem));
	if (partials)
		code = place->is_remote ? listing_run_partials(h, place, timeout_ms, &obs)
					: listing_partials_local(h, place->path, &obs);
	else
		code =
		    place->is_remote ? listing_run(h, place, timeout_ms, &obs) : listing_run_local(place->path, &obs);
	if (!code && !v.count)
		console_note(c, place->is_remote && !place->share ? "It offers no share to this machine."
				: partials                        ? "Nothing is unfinished there."
								  : "Nothing is there.");
	event_done_plain(c, code);
	return code;
}

/* `haul list nas`: what every user types once. A peer's name without its colon means the peer; a path is ./nas. */
static char *as_peer(const struct home *h, const char *text)
{
	struct haul_fault fault;
	struct peer_list list;
	char *place = NULL;

	if (strpbrk(text, "/:") || haul_failed(peers_load(h, &list, &fault)))
		return NULL;
	if (peers_find(&list, text, strlen(text)) && asprintf(&place, "%s:", text) < 0)
		place = NULL;
	peers_free(&list);
	return place;
}

static int list_in(const struct home *h, const struct invocation *inv, struct console *c)
{
	struct haul_fault fault = { 0 };
	struct place_spec place;
	char *peer;
	haul_status st;
	int code;

	if (!inv->operand_count && invocation_has(inv, OPT_PARTIALS)) {
		(void)haul_fault_set(&fault, HAUL_USAGE, "--partials lists what lies in a place: name it");
		return run_refuse_fault(c, &fault);
	}
	if (!inv->operand_count)
		return run_list_peers(h, c);
	peer = as_peer(h, inv->operands[0]);
	st = place_spec_parse(peer ? peer : inv->operands[0], &place, &fault);
	free(peer);
	if (haul_failed(st))
		return run_refuse_fault(c, &fault);
	code = list_place(h, inv, &place, c);
	place_spec_close(&place);
	return code;
}

int run_list(const struct invocation *inv, struct console *c)
{
	struct problem problem;
	struct home home;
	int code;

	if (haul_failed(run_home(inv, &home, &problem)))
		return run_refuse(c, &problem);
	code = list_in(&home, inv, c);
	home_close(&home);
	return code;
}
