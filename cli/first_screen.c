/* `haul` alone: how things stand here, and the way to a first transfer, or to the next one. */
#include "cli/run.h"

#include "cli/events.h"

#include "agent/peers.h"
#include "agent/shares.h"
#include "engine/base/escape.h"

#include <string.h>

static void print_agent(const struct home *h, struct console *c)
{
	char addresses[512] = "", home[HAUL_ESCAPED_MAX / 4];
	int pid = 0;

	console_line(c, "home       %s", haul_escape(h->config_dir, strlen(h->config_dir), home, sizeof(home)));
	if (home_agent_runs(h, addresses, sizeof(addresses), &pid))
		console_line(c, "agent      runs, pid %d, listening on %s", pid, addresses);
	else
		console_line(c, "agent      does not run (needed for others to reach this machine: hauld)");
}

static void print_shares(const struct share_list *l, struct console *c)
{
	char path[HAUL_ESCAPED_MAX / 4];

	for (size_t i = 0; i < l->count; i++)
		console_line(c, "%s  %s: %s", i ? "         " : "shares   ", l->shares[i].name,
			     haul_escape(l->shares[i].path, strlen(l->shares[i].path), path, sizeof(path)));
	if (!l->count)
		console_line(c, "shares     none");
}

static void print_peers(const struct peer_list *l, struct console *c)
{
	for (size_t i = 0; i < l->count; i++)
		console_line(c, "%s  %s%s%s", i ? "         " : "peers    ", l->peers[i].name,
			     l->peers[i].address_count ? " at " : "",
			     l->peers[i].address_count ? l->peers[i].addresses[0] : "");
	if (!l->count)
		console_line(c, "peers      none");
}

static void print_recipe(const struct home_identity *id, const char *name, struct console *c)
{
	console_line(c, "%s", "");
	console_line(c, "A first transfer, from this machine to another that is called nas here:");
	console_line(c, "  on nas  haul share add inbox /path/to/a/directory");
	console_line(c, "  on nas  haul peer add %s --name %s --allow inbox=writer", id->device_id_text, name);
	console_line(c, "  on nas  hauld");
	console_line(c, "  here    the line that the second command printed there: haul peer add ... --name nas ...");
	console_line(c, "  here    haul copy FILE nas:inbox && haul verify FILE nas:inbox/FILE");
}

static void print_next(const struct peer_list *peers, struct console *c)
{
	const char *name = peers->peers[0].name;

	console_line(c, "%s", "");
	console_line(c, "haul list %s:                 what it offers to this machine", name);
	console_line(c, "haul copy PATH %s:SHARE       copy there, every block checked", name);
}

static haul_status print_state(const struct home *h, struct console *c, struct haul_fault *fault)
{
	struct home_identity id;
	struct share_list shares;
	struct peer_list peers;
	char name[64];
	haul_status st = home_identity(h, &id, fault);

	if (haul_failed(st))
		return st;
	st = shares_load(h, &shares, fault);
	if (haul_failed(st))
		return st;
	st = peers_load(h, &peers, fault);
	if (haul_failed(st))
		goto free_shares;
	home_machine_name(name, sizeof(name));
	console_line(c, "this is    %s  %s", name, id.device_id_text);
	print_agent(h, c);
	print_shares(&shares, c);
	print_peers(&peers, c);
	if (peers.count)
		print_next(&peers, c);
	else
		print_recipe(&id, name, c);
	console_line(c, "haul --help says the rest.");
	peers_free(&peers);
free_shares:
	shares_free(&shares);
	return st;
}

int run_first_screen(const struct invocation *inv, struct console *c)
{
	struct haul_fault fault = { 0 };
	struct problem problem;
	struct home home;
	haul_status st;

	if (haul_failed(run_home(inv, &home, &problem)))
		return run_refuse(c, &problem);
	st = print_state(&home, c, &fault);
	home_close(&home);
	if (haul_failed(st))
		return run_refuse_fault(c, &fault);
	event_done_plain(c, EXIT_CLASS_USAGE);
	return EXIT_CLASS_USAGE;
}
