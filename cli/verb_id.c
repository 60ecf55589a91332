/* haul id: who this machine is to others. */
#include "cli/run.h"

#include "cli/paste.h"

#include "engine/base/escape.h"

#include <string.h>

struct about {
	struct home_identity id;
	char name[64], addresses[512], paste[PASTE_TEXT_MAX];
	bool runs;
	int pid;
};

static void print_json(struct console *c, const struct home *h, const struct about *a)
{
	struct json j;

	json_open(&j, c->out, "id");
	json_text(&j, "name", a->name);
	json_text(&j, "device_id", a->id.device_id_text);
	json_path(&j, "home", h->config_dir, strlen(h->config_dir));
	json_bool(&j, "agent_runs", a->runs);
	json_text(&j, "agent_addresses", a->runs ? a->addresses : NULL);
	json_text(&j, "paste", a->paste);
	json_close(&j);
}

static void print_text(struct console *c, const struct home *h, const struct about *a)
{
	char home[HAUL_ESCAPED_MAX / 4];

	console_out(c, "name       %s\n", a->name);
	console_out(c, "device id  %s\n", a->id.device_id_text);
	console_out(c, "home       %s\n", haul_escape(h->config_dir, strlen(h->config_dir), home, sizeof(home)));
	if (a->runs)
		console_out(c, "agent      runs, pid %d, listening on %s\n", a->pid, a->addresses);
	else
		console_out(c, "agent      does not run (needed for others to reach this machine: hauld)\n");
	console_out(c, "\nOn the other machine run:\n  %s\n", a->paste);
}

int run_id(const struct invocation *inv, struct console *c)
{
	struct about a = { 0 };
	struct haul_fault fault = { 0 };
	struct problem problem;
	struct home home;
	int code = EXIT_CLASS_OK;

	if (haul_failed(run_home(inv, &home, &problem)))
		return run_refuse(c, &problem);
	if (haul_failed(home_identity(&home, &a.id, &fault))) {
		code = run_refuse_fault(c, &fault);
	} else {
		home_machine_name(a.name, sizeof(a.name));
		a.runs = home_agent_runs(&home, a.addresses, sizeof(a.addresses), &a.pid);
		paste_line(&home, &a.id, a.paste);
		/* The answer is one object: no stream of events, so no `done` after it. */
		if (c->is_json)
			print_json(c, &home, &a);
		else
			print_text(c, &home, &a);
	}
	home_close(&home);
	return code;
}
