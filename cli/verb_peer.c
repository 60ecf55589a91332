/* haul peer add | list | show | remove | allow: who this machine knows, and what they may do here. */
#include "cli/run.h"

#include "cli/paste.h"
#include "cli/run_peers.h"
#include "cli/sizes.h"

#include "agent/peers.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RIGHTS_TEXT_MAX = 128 };

static int refuse(struct console *c, const struct haul_fault *fault)
{
	struct problem p;

	(void)problem_from_fault(&p, fault);
	if (p.code == HAUL_CODE_NO_SHARE)
		p.exit_code = EXIT_CLASS_USAGE; /* a share of this machine that there is not: a slip, not a refusal */
	return run_refuse(c, &p);
}

/* SHARE=RIGHTS. ret->share is given: free(). */
static haul_status parse_allow(const char *text, struct peer_allow *ret, struct problem *problem)
{
	const char *equals = strchr(text, '=');
	char escaped[HAUL_ESCAPED_MAX / 8];
	struct haul_fault fault = { 0 };
	char *share;

	if (!equals || equals == text || !equals[1])
		return problem_usage(problem, "Like inbox=writer", "rights are written SHARE=RIGHTS, not %s",
				     haul_escape(text, strlen(text), escaped, sizeof(escaped)));
	if (haul_failed(peer_rights_parse(equals + 1, &ret->rights, &fault)))
		return problem_from_fault(problem, &fault);
	share = strndup(text, (size_t)(equals - text));
	if (!share)
		return problem_no_memory(problem);
	ret->share = share;
	return HAUL_OK;
}

struct addition {
	const char **addresses; /* owned array, borrowed texts */
	size_t address_count;
	struct peer_allow *allow; /* owned, with its texts */
	size_t allow_count;
};

/* --quota, for all that is allowed by this command. */
static haul_status parse_quota(const struct invocation *inv, struct peer_allow *allow, size_t count,
			       struct problem *problem)
{
	const char *text = invocation_value(inv, OPT_QUOTA);
	char escaped[HAUL_ESCAPED_MAX / 8];
	struct quota_limit quota;

	if (!text)
		return HAUL_OK;
	if (!count || !allow[0].rights)
		return problem_usage(problem, NULL, "--quota limits what a peer is allowed: there is nothing to limit");
	if (haul_failed(quota_parse(text, (int64_t)time(NULL), &quota)))
		return problem_usage(problem, "Like 2T, 200G/day, or none",
				     "--quota takes a size, of a day, week or month if you like, not %s",
				     haul_escape(text, strlen(text), escaped, sizeof(escaped)));
	for (size_t i = 0; i < count; i++) {
		allow[i].has_quota = true;
		allow[i].quota = quota;
	}
	return HAUL_OK;
}

/* `edit1 may on inbox: writer, quota 2.00 TB` */
static void tell_allowed(struct console *c, const char *name, const struct peer_allow *allow)
{
	char rights[RIGHTS_TEXT_MAX], size[SIZE_TEXT_MAX], quota[SIZE_TEXT_MAX + 16] = "";

	if (allow->has_quota && allow->quota.bytes)
		(void)snprintf(quota, sizeof(quota), ", quota %s", quota_text(&allow->quota, size));
	else if (allow->has_quota)
		(void)snprintf(quota, sizeof(quota), ", without a quota");
	console_note(c, "%s may on %s: %s%s", name, allow->share,
		     peer_rights_text(allow->rights, rights, sizeof(rights)), quota);
}

static void addition_close(struct addition *a)
{
	for (size_t i = 0; i < a->allow_count; i++)
		free((char *)(uintptr_t)a->allow[i].share);
	free(a->allow);
	free(a->addresses);
}

static haul_status addition_open(const struct invocation *inv, struct addition *ret, struct problem *problem)
{
	struct addition a = { 0 };
	haul_status st = HAUL_OK;

	a.addresses = calloc(inv->use_count + 1, sizeof(*a.addresses));
	a.allow = calloc(inv->use_count + 1, sizeof(*a.allow));
	if (!a.addresses || !a.allow)
		st = problem_no_memory(problem);
	for (size_t i = 0; haul_ok(st) && i < inv->use_count; i++) {
		if (inv->uses[i].def->id == OPT_ADDRESS)
			a.addresses[a.address_count++] = inv->uses[i].value;
		if (inv->uses[i].def->id != OPT_ALLOW)
			continue;
		st = parse_allow(inv->uses[i].value, &a.allow[a.allow_count], problem);
		if (haul_ok(st))
			a.allow_count++;
	}
	if (haul_ok(st))
		st = parse_quota(inv, a.allow, a.allow_count, problem);
	if (haul_failed(st))
		addition_close(&a);
	else
		*ret = a;
	return st;
}

/* The other half of an introduction: what to run over there, unless that has been done. */
static void tell_other_half(const struct home *h, struct console *c, const char *name)
{
	struct haul_fault fault;
	struct home_identity id;
	char paste[PASTE_TEXT_MAX];

	if (haul_ok(home_identity(h, &id, &fault)))
		console_note(c, "%s must know this machine too. Unless it does, there run:\n  %s", name,
			     paste_line(h, &id, paste));
}

static int add_peer(const struct home *h, const struct invocation *inv, struct console *c)
{
	const char *name = invocation_value(inv, OPT_NAME);
	struct haul_fault fault = { 0 };
	struct problem problem;
	struct addition a;
	haul_status st;

	if (haul_failed(addition_open(inv, &a, &problem)))
		return run_refuse(c, &problem);
	st = peers_add(h, inv->operands[1], name, a.addresses, a.address_count, a.allow, a.allow_count, &fault);
	if (haul_ok(st)) {
		console_note(c, "%s is known.", name);
		for (size_t i = 0; i < a.allow_count; i++)
			tell_allowed(c, name, &a.allow[i]);
		tell_other_half(h, c, name);
		run_tell_agent(h, c);
	}
	addition_close(&a);
	return haul_failed(st) ? refuse(c, &fault) : run_finish(c);
}

static int remove_peer(const struct home *h, const struct invocation *inv, struct console *c)
{
	struct haul_fault fault = { 0 };

	if (haul_failed(peers_remove(h, inv->operands[1], &fault)))
		return refuse(c, &fault);
	console_note(c, "%s is not known any more.", inv->operands[1]);
	run_tell_agent(h, c);
	return run_finish(c);
}

static int allow_peer(const struct home *h, const struct invocation *inv, struct console *c)
{
	struct haul_fault fault = { 0 };
	struct peer_allow allow = { .share = NULL };
	struct problem problem;
	haul_status st = parse_allow(inv->operands[2], &allow, &problem);

	if (haul_ok(st))
		st = parse_quota(inv, &allow, 1, &problem);
	if (haul_failed(st)) {
		free((char *)(uintptr_t)allow.share);
		return run_refuse(c, &problem);
	}
	st = peers_allow(h, inv->operands[1], &allow, &fault);
	if (haul_ok(st)) {
		tell_allowed(c, inv->operands[1], &allow);
		run_tell_agent(h, c);
	}
	free((char *)(uintptr_t)allow.share);
	return haul_failed(st) ? refuse(c, &fault) : run_finish(c);
}

static void quota_fields(struct json *j, const struct home *h, const struct peer *p, const struct peer_right *right)
{
	uint64_t used;

	if (!right->quota.bytes)
		return;
	json_uint(j, "quota_bytes", right->quota.bytes);
	json_int(j, "quota_since", right->quota.since_s);
	json_uint(j, "quota_every_s", right->quota.every_s);
	if (haul_ok(peer_quota_used(h, p, right, &used)))
		json_uint(j, "quota_used_bytes", used);
}

static void peer_event(const struct home *h, struct console *c, const struct peer *p)
{
	char rights[RIGHTS_TEXT_MAX];
	struct json j;

	json_open(&j, c->out, "peer");
	json_text(&j, "name", p->name);
	json_text(&j, "device_id", p->device_id_text);
	json_int(&j, "added_at", p->added_at);
	json_list(&j, "addresses");
	for (size_t i = 0; i < p->address_count; i++)
		json_text(&j, NULL, p->addresses[i]);
	json_list_end(&j);
	json_list(&j, "rights");
	for (size_t i = 0; i < p->right_count; i++) {
		json_object(&j);
		json_text(&j, "share", p->rights[i].share);
		json_text(&j, "rights", peer_rights_text(p->rights[i].rights, rights, sizeof(rights)));
		quota_fields(&j, h, p, &p->rights[i]);
		json_object_end(&j);
	}
	json_list_end(&j);
	json_close(&j);
}

/* "may here   inbox=writer, 1.20 TB of 2.00 TB/week used" */
static void print_right(const struct home *h, struct console *c, const struct peer *p, const struct peer_right *right)
{
	char rights[RIGHTS_TEXT_MAX], quota[SIZE_TEXT_MAX], size[SIZE_TEXT_MAX];
	uint64_t used;

	console_out(c, "may here   %s=%s", right->share, peer_rights_text(right->rights, rights, sizeof(rights)));
	if (right->quota.bytes && haul_ok(peer_quota_used(h, p, right, &used)))
		console_out(c, ", %s of %s used", size_text(used, size), quota_text(&right->quota, quota));
	else if (right->quota.bytes)
		console_out(c, ", quota %s", quota_text(&right->quota, quota));
	console_out(c, "\n");
}

static void print_peer(const struct home *h, struct console *c, const struct peer *p, bool is_long)
{
	if (c->is_json) {
		peer_event(h, c, p);
		return;
	}
	if (!is_long) {
		console_out(c, "%-16s %s", p->name, p->address_count ? "" : "no address");
		for (size_t i = 0; i < p->address_count; i++)
			console_out(c, "%s%s", i ? " " : "", p->addresses[i]);
		console_out(c, "\n");
		return;
	}
	console_out(c, "name       %s\ndevice id  %s\n", p->name, p->device_id_text);
	for (size_t i = 0; i < p->address_count; i++)
		console_out(c, "address    %s\n", p->addresses[i]);
	for (size_t i = 0; i < p->right_count; i++)
		print_right(h, c, p, &p->rights[i]);
	if (!p->right_count)
		console_out(c, "may here   nothing\n");
}

int run_list_peers(const struct home *h, struct console *c)
{
	struct haul_fault fault = { 0 };
	struct peer_list list;

	if (haul_failed(peers_load(h, &list, &fault)))
		return run_refuse_fault(c, &fault);
	for (size_t i = 0; i < list.count; i++)
		print_peer(h, c, &list.peers[i], false);
	if (!list.count)
		console_note(c, "No peer is known yet. On the other machine: haul id");
	peers_free(&list);
	return run_finish(c);
}

static int show_peer(const struct home *h, const struct invocation *inv, struct console *c)
{
	const char *name = inv->operands[1];
	char escaped[HAUL_ESCAPED_MAX / 8], known[HAUL_FAULT_TEXT_MAX / 2] = "none";
	struct haul_fault fault = { 0 };
	struct peer_list list;
	const struct peer *p;
	size_t used = 0;

	if (haul_failed(peers_load(h, &list, &fault)))
		return run_refuse_fault(c, &fault);
	p = peers_find(&list, name, strlen(name));
	if (p)
		print_peer(h, c, p, true);
	for (size_t i = 0; i < list.count && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", list.peers[i].name);
	peers_free(&list);
	if (p)
		return run_finish(c);
	(void)haul_fault_set(&fault, HAUL_NOT_KNOWN, "no peer \"%s\" (known: %s)",
			     haul_escape(name, strlen(name), escaped, sizeof(escaped)), known);
	return run_refuse_fault(c, &fault);
}

static const struct {
	const char *word;
	size_t operands;
	int (*run)(const struct home *h, const struct invocation *inv, struct console *c);
} actions[] = { { "add", 2, add_peer },
		{ "show", 2, show_peer },
		{ "remove", 2, remove_peer },
		{ "allow", 3, allow_peer },
		{ "list", 1, NULL } };

int run_peer(const struct invocation *inv, struct console *c)
{
	struct problem problem;
	struct home home;
	size_t i = 0;
	int code;

	while (i < sizeof(actions) / sizeof(actions[0]) && strcmp(actions[i].word, inv->operands[0]))
		i++;
	if (i == sizeof(actions) / sizeof(actions[0]) || actions[i].operands != inv->operand_count) {
		(void)problem_usage(&problem, "See haul help peer",
				    "haul peer is: add DEVICE-ID --name NAME, list, show NAME, remove NAME, "
				    "or allow NAME SHARE=RIGHTS");
		return run_refuse(c, &problem);
	}
	if (i == 0 && !invocation_has(inv, OPT_NAME)) {
		(void)problem_usage(&problem, "Add --name NAME", "haul peer add needs what the peer is called here");
		return run_refuse(c, &problem);
	}
	if (i != 0 &&
	    (invocation_has(inv, OPT_NAME) || invocation_has(inv, OPT_ADDRESS) || invocation_has(inv, OPT_ALLOW))) {
		(void)problem_usage(&problem, NULL, "--name, --address and --allow belong to haul peer add");
		return run_refuse(c, &problem);
	}
	if (i != 0 && strcmp(actions[i].word, "allow") && invocation_has(inv, OPT_QUOTA)) {
		(void)problem_usage(&problem, NULL, "--quota belongs to haul peer add and haul peer allow");
		return run_refuse(c, &problem);
	}
	if (haul_failed(run_home(inv, &home, &problem)))
		return run_refuse(c, &problem);
	code = actions[i].run ? actions[i].run(&home, inv, c) : run_list_peers(&home, c);
	home_close(&home);
	return code;
}
