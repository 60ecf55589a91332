/* haul share add | list | remove: what this machine offers. */
#include "cli/run.h"

#include "cli/sizes.h"

#include "agent/shares.h"
#include "engine/base/escape.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An octal number up to 0777. */
static haul_status parse_umask(const char *text, uint32_t *ret_umask, struct problem *problem)
{
	char *end;
	unsigned long bits = strtoul(text, &end, 8);

	if (text[0] < '0' || text[0] > '7' || *end || bits > 0777)
		return problem_usage(problem, NULL, "--umask takes octal digits, 000 to 777");
	*ret_umask = (uint32_t)bits;
	return HAUL_OK;
}

static haul_status parse_keep(const char *text, uint32_t *ret_days, struct problem *problem)
{
	uint64_t days;

	if (haul_failed(number_parse(text, 1, SHARE_KEEP_DAYS_MAX, &days)))
		return problem_usage(problem, NULL, "--keep-partials takes days, 1 to %d", SHARE_KEEP_DAYS_MAX);
	*ret_days = (uint32_t)days;
	return HAUL_OK;
}

/* A name that the lookup knows, or digits. */
static bool parse_id(const char *text, bool is_group, uint64_t *ret_id)
{
	const struct passwd *user = is_group ? NULL : getpwnam(text);
	const struct group *group = is_group ? getgrnam(text) : NULL;
	char *end;
	unsigned long number;

	if (user)
		*ret_id = user->pw_uid;
	else if (group)
		*ret_id = group->gr_gid;
	if (user || group)
		return true;
	number = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || number >= UINT32_MAX)
		return false;
	*ret_id = number;
	return true;
}

static haul_status parse_owner(const char *text, struct share *share, struct problem *problem)
{
	char user[128], escaped[HAUL_ESCAPED_MAX / 8];
	const char *colon = strchr(text, ':');

	haul_escape(text, strlen(text), escaped, sizeof(escaped));
	if (!colon || colon == text || !colon[1] || (size_t)(colon - text) >= sizeof(user))
		return problem_usage(problem, NULL, "--own takes USER:GROUP, not %s", escaped);
	memcpy(user, text, (size_t)(colon - text));
	user[colon - text] = '\0';
	if (!parse_id(user, false, &share->own_uid))
		return problem_usage(problem, NULL, "--own %s: this machine knows no such user", escaped);
	if (!parse_id(colon + 1, true, &share->own_gid))
		return problem_usage(problem, NULL, "--own %s: this machine knows no such group", escaped);
	return HAUL_OK;
}

/* A path that this process can say absolutely; links in it are kept. */
static char *absolute(const char *path)
{
	char *here = *path == '/' ? NULL : getcwd(NULL, 0);
	char *whole = NULL;

	if (*path == '/')
		return strdup(path);
	if (here && asprintf(&whole, "%s/%s", strcmp(here, "/") ? here : "", path) < 0)
		whole = NULL;
	free(here);
	return whole;
}

static int refuse(struct console *c, const struct haul_fault *fault)
{
	struct problem p;

	(void)problem_from_fault(&p, fault);
	if (p.code == HAUL_CODE_NO_SHARE || p.code == HAUL_CODE_NOT_FOUND)
		p.exit_code = EXIT_CLASS_USAGE; /* the user's own word, nothing was touched */
	return run_refuse(c, &p);
}

static int add_share(const struct home *h, const struct invocation *inv, struct console *c)
{
	const char *own = invocation_value(inv, OPT_OWN), *mask = invocation_value(inv, OPT_UMASK);
	const char *keep = invocation_value(inv, OPT_KEEP_PARTIALS);
	struct share share = { .own_uid = UINT64_MAX, .own_gid = UINT64_MAX, .umask = UINT32_MAX };
	struct haul_fault fault = { 0 };
	struct problem problem;
	char path[HAUL_ESCAPED_MAX / 2];
	char name[128];
	int code = EXIT_CLASS_OK;

	if (own && haul_failed(parse_owner(own, &share, &problem)))
		return run_refuse(c, &problem);
	if (mask && haul_failed(parse_umask(mask, &share.umask, &problem)))
		return run_refuse(c, &problem);
	if (keep && haul_failed(parse_keep(keep, &share.keep_days, &problem)))
		return run_refuse(c, &problem);
	(void)snprintf(name, sizeof(name), "%s", inv->operands[1]);
	share.name = name;
	share.path = absolute(inv->operands[2]);
	if (!share.path)
		return run_refuse(c, (problem_no_memory(&problem), &problem));
	if (haul_failed(shares_add(h, &share, &fault))) {
		code = refuse(c, &fault);
	} else {
		console_note(c, "%s is shared as %s. Peers may do what `haul peer allow PEER %s=RIGHTS` says.",
			     haul_escape(share.path, strlen(share.path), path, sizeof(path)), name, name);
		run_tell_agent(h, c);
		(void)run_finish(c);
	}
	free(share.path);
	return code;
}

static int remove_share(const struct home *h, const struct invocation *inv, struct console *c)
{
	struct haul_fault fault = { 0 };

	if (haul_failed(shares_remove(h, inv->operands[1], &fault)))
		return refuse(c, &fault);
	console_note(c, "%s is not shared any more. Its files stay where they are.", inv->operands[1]);
	run_tell_agent(h, c);
	return run_finish(c);
}

static void print_share(struct console *c, const struct share *s)
{
	char path[HAUL_ESCAPED_MAX];
	struct json j;

	if (!c->is_json) {
		console_out(c, "%-16s %s\n", s->name, haul_escape(s->path, strlen(s->path), path, sizeof(path)));
		return;
	}
	json_open(&j, c->out, "share");
	json_text(&j, "name", s->name);
	json_path(&j, "path", s->path, strlen(s->path));
	if (s->own_uid != UINT64_MAX)
		json_uint(&j, "own_uid", s->own_uid);
	if (s->own_gid != UINT64_MAX)
		json_uint(&j, "own_gid", s->own_gid);
	if (s->umask != UINT32_MAX)
		json_uint(&j, "umask", s->umask);
	if (s->keep_days)
		json_uint(&j, "keep_partials_days", s->keep_days);
	json_close(&j);
}

static int list_shares(const struct home *h, struct console *c)
{
	struct haul_fault fault = { 0 };
	struct share_list list;

	if (haul_failed(shares_load(h, &list, &fault)))
		return run_refuse_fault(c, &fault);
	for (size_t i = 0; i < list.count; i++)
		print_share(c, &list.shares[i]);
	if (!list.count)
		console_note(c, "Nothing is shared. To share: haul share add NAME PATH");
	shares_free(&list);
	return run_finish(c);
}

int run_share(const struct invocation *inv, struct console *c)
{
	const char *what = inv->operands[0];
	size_t wants = !strcmp(what, "add") ? 3 : !strcmp(what, "remove") ? 2 : !strcmp(what, "list") ? 1 : 0;
	struct problem problem;
	struct home home;
	int code;

	if (wants != inv->operand_count) {
		(void)problem_usage(&problem, "See haul help share",
				    "haul share is: add NAME PATH, list, or remove NAME");
		return run_refuse(c, &problem);
	}
	if (wants != 3 && (invocation_has(inv, OPT_OWN) || invocation_has(inv, OPT_UMASK) ||
			   invocation_has(inv, OPT_KEEP_PARTIALS))) {
		(void)problem_usage(&problem, NULL, "--own, --umask and --keep-partials belong to haul share add");
		return run_refuse(c, &problem);
	}
	if (haul_failed(run_home(inv, &home, &problem)))
		return run_refuse(c, &problem);
	code = wants == 3 ? add_share(&home, inv, c) : wants == 2 ? remove_share(&home, inv, c) : list_shares(&home, c);
	home_close(&home);
	return code;
}
