/* What the verbs share. */
#include "cli/run.h"

#include "cli/events.h"

#include "engine/base/escape.h"

#include <string.h>
#include <unistd.h>

int run_refuse(struct console *c, const struct problem *p)
{
	console_problem(c, p);
	event_done_plain(c, p->exit_code);
	return p->exit_code;
}

int run_refuse_fault(struct console *c, const struct haul_fault *fault)
{
	struct problem p;

	(void)problem_from_fault(&p, fault);
	return run_refuse(c, &p);
}

int run_finish(struct console *c)
{
	event_done_plain(c, EXIT_CLASS_OK);
	return EXIT_CLASS_OK;
}

haul_status run_home(const struct invocation *inv, struct home *ret_home, struct problem *problem)
{
	const char *asked = invocation_value(inv, OPT_HOME);
	struct haul_fault fault = { 0 };
	haul_status st;

	if (invocation_has(inv, OPT_SYSTEM)) {
		if (asked)
			return problem_usage(problem, NULL, "--home and --system are two homes: give one");
		if (geteuid() != 0)
			return problem_usage(problem, "Run it as root", "--system is root's home");
		st = home_open_system(ret_home, &fault);
	} else {
		st = home_open(ret_home, asked, &fault);
	}
	return haul_failed(st) ? problem_from_fault(problem, &fault) : HAUL_OK;
}

haul_status run_home_if_any(const struct invocation *inv, struct home *ret_home, bool *ret_has, struct problem *problem)
{
	struct haul_fault fault = { 0 };
	haul_status st;

	if (invocation_has(inv, OPT_SYSTEM)) {
		st = run_home(inv, ret_home, problem);
		*ret_has = haul_ok(st);
		return st;
	}
	st = home_find(ret_home, invocation_value(inv, OPT_HOME), &fault);
	*ret_has = haul_ok(st);
	return haul_ok(st) || st.code == HAUL_NOT_FOUND.code ? HAUL_OK : problem_from_fault(problem, &fault);
}

haul_status run_local_places(const struct invocation *inv, const struct run_elsewhere *elsewhere,
			     struct place_spec *ret, struct problem *problem)
{
	char shown[HAUL_ESCAPED_MAX / 8];
	struct haul_fault fault;

	for (size_t i = 0; i < inv->operand_count; i++) {
		const char *text = inv->operands[i];

		if (haul_failed(place_spec_parse(text, &ret[i], &fault)))
			return problem_from_fault(problem, &fault);
		if (ret[i].is_remote)
			return problem_usage(problem, elsewhere->remedy, "%s is not on this machine: %s",
					     haul_escape(text, strlen(text), shown, sizeof(shown)), elsewhere->reason);
	}
	return HAUL_OK;
}

void run_tell_agent(const struct home *h, struct console *c)
{
	char home[HAUL_ESCAPED_MAX / 4], addresses[512] = "";
	int pid = 0;

	haul_escape(h->config_dir, strlen(h->config_dir), home, sizeof(home));
	if (home_agent_runs(h, addresses, sizeof(addresses), &pid))
		console_note(c, "The agent of %s runs (pid %d, %s): it knows at once.", home, pid, addresses);
	else
		console_note(c, "The agent of %s does not run; to let others reach this machine: %shauld", home,
			     h->is_system ? "systemctl start hauld, or " : "");
}
