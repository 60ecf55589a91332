/* haul: parse, open the console, run one verb. */
#include "agent/descriptor_limit.h"
#include "cli/last_words.h"
#include "cli/named_files.h"
#include "cli/run.h"

#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* -h with nothing else, or after a verb: help. Among other words it is rsync's, and changes nothing. */
static bool is_lone_h(int argc, char **argv)
{
	if (argc < 2 || argc > 3 || strcmp(argv[argc - 1], "-h"))
		return false;
	return argc == 2 || verb_find(argv[1]);
}

static int run_verb(const struct invocation *inv, struct console *c)
{
	if (invocation_has(inv, OPT_VERSION))
		return run_version(c);
	if (invocation_has(inv, OPT_HELP))
		return run_help_of(inv->verb ? inv->verb->name : NULL, c);
	if (!inv->verb)
		return run_first_screen(inv, c);
	switch (inv->verb->verb) {
	case VERB_COPY:
	case VERB_SYNC:
	case VERB_VERIFY:
		return run_transfer(inv, c);
	case VERB_MOVE:
		return run_move(inv, c);
	case VERB_REMOVE:
		return run_remove(inv, c);
	case VERB_LIST:
		return run_list(inv, c);
	case VERB_DIAGNOSE:
		return run_diagnose(inv, c);
	case VERB_ID:
		return run_id(inv, c);
	case VERB_SHARE:
		return run_share(inv, c);
	case VERB_PEER:
		return run_peer(inv, c);
	case VERB_HELP:
		return run_help(inv, c);
	case VERB_HASH:
	case VERB_KEPT_FREE:
		break; /* the parser has refused them */
	}
	return EXIT_CLASS_BUG;
}

/* What the environment changed is said first; a transfer says it with its landing. */
static void tell_environment(const struct invocation *inv, struct console *c)
{
	char text[HAUL_FAULT_TEXT_MAX];

	if (inv->verb && inv->verb->verb & (VERB_COPY | VERB_SYNC | VERB_VERIFY | VERB_MOVE))
		return;
	if (*invocation_environment(inv, text, sizeof(text)))
		console_note(c, "from the environment: %s", text);
}

static int run(int argc, char **argv, struct console *c)
{
	struct invocation inv;
	struct problem problem;
	int code;

	if (is_lone_h(argc, argv))
		return run_help_of(argc == 3 ? argv[1] : NULL, c);
	if (haul_failed(invocation_parse(&inv, argc, argv, environ, &problem)))
		return run_refuse(c, &problem);
	if (haul_failed(named_files_check(&inv, &problem)) || haul_failed(console_open(c, &inv, &problem))) {
		invocation_blame(&inv, &problem);
		code = run_refuse(c, &problem);
	} else {
		tell_environment(&inv, c);
		code = run_verb(&inv, c);
	}
	invocation_close(&inv);
	return code;
}

int main(int argc, char **argv)
{
	bool wants_json = invocation_wants_json(argc, argv, environ);
	struct console console;
	int code;

	(void)setlocale(LC_TIME, "");
	(void)signal(SIGPIPE, SIG_IGN); /* a reader that leaves is seen as a failed write */
	(void)signal(SIGXFSZ, SIG_IGN); /* as is a file over the limit: EFBIG */
	(void)descriptor_limit_raise();
	last_words_arm(wants_json);
	console_plain(&console, wants_json);
	code = run(argc, argv, &console);
	if (haul_failed(console_close(&console)) && !code)
		code = EXIT_CLASS_BUG;
	return code;
}
