/* What haul says about itself. `--help` stays within 40 lines of 80 columns; tests count. */
#include "cli/run.h"

#include <stdio.h>
#include <string.h>

#ifndef HAUL_VERSION
#define HAUL_VERSION "0"
#endif

static const char help_text[] = "haul copies files between machines on a LAN and checks every block on arrival.\n"
				"\n"
				"Files\n"
				"  copy SRC... DST       between this machine and a peer, or within this machine\n"
				"  verify SRC DST        compare by content, reading every byte of both sides\n"
				"  move SRC... DST       rename on this machine; nothing is replaced\n"
				"  remove PATH...        delete on this machine, several at a time, guarded\n"
				"  list [PEER:[SHARE[/PATH]]]   peers, a peer's shares, or what lies there\n"
				"  diagnose [PATH] [PEER:SHARE]   measure each part, name the narrowest\n"
				"This machine\n"
				"  id                    its name and device id, and the line for the other side\n"
				"  share add NAME PATH | list | remove NAME        what it offers to peers\n"
				"  hauld                 its agent, which other machines connect to\n"
				"Others\n"
				"  peer add DEVICE-ID --name NAME [--address HOST] [--allow SHARE=RIGHTS]\n"
				"  peer list | show NAME | remove NAME | allow NAME SHARE=RIGHTS\n"
				"  help VERB             options and examples of a verb\n"
				"\n"
				"Places are PATH, PEER:SHARE[/PATH] or haul://HOST[:PORT]/SHARE[/PATH].\n"
				"  SRC                        DST                       lands as\n"
				"  file                       missing                   that name\n"
				"  file                       DST/, or a directory      DST/file\n"
				"  dir                        any                       DST/dir\n"
				"  dir/ . .. PEER:SHARE       any                       its contents into DST\n"
				"  several                    any                       into DST, made if missing\n"
				"  link (-L follows)          any                       the link, with a note\n"
				"\n"
				"Examples\n"
				"  haul share add inbox /srv/inbox                 on nas: offer a directory\n"
				"  haul peer add ID --name edit1 --allow inbox=writer     on nas: let edit1 in\n"
				"  haul copy Footage nas:inbox/day1                lands as day1/Footage\n"
				"  haul copy -n Footage/ nas:inbox/day1            say what would be done\n"
				"  haul verify Footage nas:inbox/day1/Footage      exit 4 when anything differs\n"
				"\n"
				"Not in this version: sync, hash.\n"
				"Exit: 0 done, 1 usage, 2 no source, 3 some failed, 4 content differs,\n"
				"5 not reachable, 6 not allowed, 7 no space, 8 sources changed, 9 guard refused,\n"
				"10 haul failed, 11 the same copy runs.\n";

static bool is_shown(const struct option_def *o, enum verb verb)
{
	return o->help && (o->verbs & verb);
}

/* "-n, --dry-run" and "--lanes=N"; choices as far as this version has them. */
static void option_line(struct console *c, const struct option_def *o, enum verb verb)
{
	char left[64], words[64] = "";
	bool lacks_some = !o->later_verbs || o->later_verbs & verb;
	size_t used;

	for (const char *w = o->words; w;) {
		const char *end = strchr(w, '|');
		size_t len = end ? (size_t)(end - w) : strlen(w);

		used = strlen(words);
		if (!lacks_some || !option_has_word(o->later, w, len))
			(void)snprintf(words + used, sizeof(words) - used, "%s%.*s", used ? "|" : "", (int)len, w);
		w = end ? end + 1 : NULL;
	}
	used = (size_t)snprintf(left, sizeof(left), o->letter ? "-%c, " : "    ", o->letter);
	(void)snprintf(left + used, sizeof(left) - used, "--%s%s%s", o->name, o->value == VALUE_NONE ? "" : "=",
		       o->words  ? words
		       : o->hint ? o->hint
				 : "");
	if (strlen(left) > 24)
		console_out(c, "  %s\n  %-24s %s\n", left, "", o->help);
	else
		console_out(c, "  %-24s %s\n", left, o->help);
}

static int help_of_verb(const struct verb_def *verb, struct console *c)
{
	const struct option_def *table;
	size_t count;

	table = option_table(&count);
	console_out(c, "%s\n\n%s", verb->usage, verb->purpose ? verb->purpose : "Help.\n");
	console_out(c, "\nOptions\n");
	for (size_t i = 0; i < count; i++)
		if (is_shown(&table[i], verb->verb))
			option_line(c, &table[i], verb->verb);
	if (verb->verb & VERB_REMOVE)
		console_out(c, "  -r is accepted and changes nothing.\n");
	if (verb->verb & (VERB_COPY | VERB_SYNC | VERB_VERIFY | VERB_MOVE))
		console_out(c, "  -a -r -l -p -t -o -g -A -X -z -h -P -W are accepted and change nothing.\n"
			       "  HAUL_OPTION_NAME in the environment stands for --name.\n");
	console_out(c, "\nExamples\n%s", verb->examples);
	return run_finish(c);
}

int run_help_of(const char *name, struct console *c)
{
	const struct verb_def *verb = name ? verb_find(name) : NULL;
	const char *near = name ? verb_suggest(name) : NULL;
	char remedy[64] = "See haul --help";
	struct problem p;

	if (!name || (verb && verb->verb == VERB_HELP)) {
		console_out(c, "%s", help_text);
		return run_finish(c);
	}
	if (!strcmp(name, "hauld")) {
		console_out(c, "hauld, the agent, is a program of its own: see hauld --help, or man hauld.\n");
		return run_finish(c);
	}
	if (verb && verb->is_built)
		return help_of_verb(verb, c);
	if (near && !verb)
		(void)snprintf(remedy, sizeof(remedy), "Did you mean haul help %s ?", near);
	if (verb)
		(void)problem_usage(&p, NULL, "%s is not in this version", verb->name);
	else
		(void)problem_usage(&p, remedy, "haul has no such verb");
	return run_refuse(c, &p);
}

int run_help(const struct invocation *inv, struct console *c)
{
	return run_help_of(inv->operand_count ? inv->operands[0] : NULL, c);
}

int run_version(struct console *c)
{
	console_out(c, "haul %s\n", HAUL_VERSION);
	return run_finish(c);
}
