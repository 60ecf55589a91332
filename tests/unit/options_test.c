/* What is typed, taken apart. A command line is written as one text here and split at blanks. */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORDS_MAX = 24 };

struct line {
	char text[512];
	char *argv[WORDS_MAX];
	int argc;
	struct invocation inv;
	struct problem problem;
};

static haul_status parse_in(struct line *l, const char *text, char *const *environment)
{
	memset(l, 0, sizeof(*l));
	assert_true(strlen(text) < sizeof(l->text));
	memcpy(l->text, text, strlen(text) + 1);
	for (char *word = strtok(l->text, " "); word; word = strtok(NULL, " "))
		l->argv[l->argc++] = word;
	return invocation_parse(&l->inv, l->argc, l->argv, environment, &l->problem);
}

static haul_status parse(struct line *l, const char *text)
{
	return parse_in(l, text, NULL);
}

static void check_refused(const char *text, const char *what, const char *remedy)
{
	struct line l;

	assert_int_equal(parse(&l, text).code, HAUL_CODE_USAGE);
	assert_int_equal(l.problem.exit_code, EXIT_CLASS_USAGE);
	assert_string_equal(l.problem.text, what);
	if (remedy)
		assert_string_equal(l.problem.remedy, remedy);
}

static void options_may_stand_anywhere(void **state)
{
	struct line l;

	(void)state;
	assert_true(haul_ok(parse(&l, "haul --json copy --lanes 4 a -n --block=2M nas:b -q")));
	assert_int_equal(l.inv.verb->verb, VERB_COPY);
	assert_int_equal(l.inv.operand_count, 2);
	assert_string_equal(l.inv.operands[0], "a");
	assert_string_equal(l.inv.operands[1], "nas:b");
	assert_string_equal(invocation_value(&l.inv, OPT_LANES), "4");
	assert_string_equal(invocation_value(&l.inv, OPT_BLOCK), "2M");
	assert_true(invocation_has(&l.inv, OPT_JSON));
	assert_true(invocation_has(&l.inv, OPT_DRY_RUN));
	assert_true(invocation_has(&l.inv, OPT_QUIET));
	assert_false(invocation_has(&l.inv, OPT_CHECKSUM));
	assert_null(invocation_value(&l.inv, OPT_AS));
	invocation_close(&l.inv);
}

static void letters_bundle_and_some_change_nothing(void **state)
{
	struct line l;

	(void)state;
	assert_true(haul_ok(parse(&l, "haul copy -avhP -rlptogAXzW -nc a nas:b")));
	assert_true(invocation_has(&l.inv, OPT_VERBOSE));
	assert_true(invocation_has(&l.inv, OPT_DRY_RUN));
	assert_true(invocation_has(&l.inv, OPT_CHECKSUM));
	assert_false(invocation_has(&l.inv, OPT_PROGRESS));
	invocation_close(&l.inv);
}

static void two_dashes_end_options(void **state)
{
	struct line l;

	(void)state;
	assert_true(haul_ok(parse(&l, "haul copy -n -- --lanes -q - nas:b")));
	assert_int_equal(l.inv.operand_count, 4);
	assert_string_equal(l.inv.operands[0], "--lanes");
	assert_string_equal(l.inv.operands[1], "-q");
	assert_string_equal(l.inv.operands[2], "-");
	assert_false(invocation_has(&l.inv, OPT_QUIET));
	invocation_close(&l.inv);
}

static void an_option_may_repeat(void **state)
{
	struct line l;
	size_t first, second;

	(void)state;
	assert_true(haul_ok(parse(&l, "haul peer add ID --name nas --address 10.0.0.2 --address=nas.local:7")));
	first = invocation_next(&l.inv, OPT_ADDRESS, 0);
	second = invocation_next(&l.inv, OPT_ADDRESS, first + 1);
	assert_string_equal(l.inv.uses[first].value, "10.0.0.2");
	assert_string_equal(l.inv.uses[second].value, "nas.local:7");
	assert_int_equal(invocation_next(&l.inv, OPT_ADDRESS, second + 1), l.inv.use_count);
	invocation_close(&l.inv);
}

static void a_word_option_never_swallows_a_place(void **state)
{
	struct line l;

	(void)state;
	assert_true(haul_ok(parse(&l, "haul copy --progress never a nas:b")));
	assert_string_equal(invocation_value(&l.inv, OPT_PROGRESS), "never");
	assert_int_equal(l.inv.operand_count, 2);
	invocation_close(&l.inv);
	check_refused("haul copy --progress a nas:b", "--progress takes auto, always or never: write --progress=WORD",
		      NULL);
	check_refused("haul copy --direct=maybe a nas:b", "--direct takes auto, always or never: write --direct=WORD",
		      NULL);
}

static void says_what_is_wrong(void **state)
{
	(void)state;
	check_refused("haul cpy a b", "haul has no verb cpy", "Did you mean haul copy ?");
	check_refused("haul ls", "haul has no verb ls", "Did you mean haul list ?");
	check_refused("haul frobnicate", "haul has no verb frobnicate", "See haul --help");
	check_refused("haul copy --check-sum a b", "haul has no option --check-sum", "Did you mean --checksum ?");
	check_refused("haul copy -k a b", "haul has no option -k", NULL);
	check_refused("haul copy --remove-source-files a b", "haul has no option --remove-source-files",
		      "haul move does that");
	check_refused("haul copy --json=1 a b", "--json takes no value", NULL);
	check_refused("haul copy a b --lanes", "--lanes needs a value: --lanes=N", NULL);
	check_refused("haul id --lanes 4", "haul id has no option --lanes", NULL);
	check_refused("haul copy --exact a b", "haul copy has no option --exact", NULL);
	check_refused("haul id -a", "haul id has no option -a", NULL);
	check_refused("haul copy a", "too little said: haul copy [OPTION]... SRC... DST", "See haul help copy");
	check_refused("haul verify a b c", "too much said: haul verify [OPTION]... SRC DST", "See haul help verify");
	check_refused("haul -n", "haul --dry-run needs a verb", "See haul --help");
}

static void what_is_later_is_refused(void **state)
{
	(void)state;
	check_refused("haul send a", "send is not in this version", NULL);
	check_refused("haul copy --verify=disk a b", "--verify=disk is not in this version", NULL);
	check_refused("haul copy --on-conflict number a b", "--on-conflict=number is not in this version", NULL);
	check_refused("haul copy --trash a b", "--trash is not in this version", NULL);
	check_refused("haul copy -aH a b", "-H is not in this version", NULL);
}

/* Every entry of the table is either of this version or refused, whatever verb it stands with. */
static void the_whole_table_is_built_or_refused(void **state)
{
	const struct option_def *table;
	size_t count, refused = 0;

	(void)state;
	table = option_table(&count);
	for (size_t i = 0; i < count; i++) {
		char text[128];
		struct line l;

		assert_true(table[i].name || table[i].letter);
		if (table[i].verbs) {
			assert_int_not_equal(table[i].id, OPT_LATER);
			continue;
		}
		assert_null(table[i].help);
		if (table[i].name)
			(void)snprintf(text, sizeof(text), "haul copy --%s a nas:b", table[i].name);
		else
			(void)snprintf(text, sizeof(text), "haul copy -%c a nas:b", table[i].letter);
		assert_int_equal(parse(&l, text).code, HAUL_CODE_USAGE);
		assert_non_null(strstr(l.problem.text, "is not in this version"));
		refused++;
	}
	assert_true(refused >= 8);
}

static void the_environment_stands_below_the_line(void **state)
{
	char *const environment[] = { "HAUL_OPTION_LANES=2",
				      "HAUL_OPTION_BWLIMIT=10M",
				      "HAUL_OPTION_JSON=0",
				      "HAUL_OPTION_CONNECT_TIMEOUT=3",
				      "LANES=9",
				      NULL };
	struct line l;
	char text[128];

	(void)state;
	assert_true(haul_ok(parse_in(&l, "haul copy --lanes 4 a nas:b", environment)));
	assert_string_equal(invocation_value(&l.inv, OPT_LANES), "4");
	assert_string_equal(invocation_value(&l.inv, OPT_BWLIMIT), "10M");
	assert_string_equal(invocation_value(&l.inv, OPT_CONNECT_TIMEOUT), "3");
	assert_false(invocation_has(&l.inv, OPT_JSON));
	assert_string_equal(invocation_environment(&l.inv, text, sizeof(text)), "--bwlimit=10M, --connect-timeout=3");
	invocation_close(&l.inv);

	assert_true(haul_ok(parse_in(&l, "haul id", environment))); /* what id has not is dropped */
	assert_string_equal(invocation_environment(&l.inv, text, sizeof(text)), "");
	invocation_close(&l.inv);
}

static void check_environment_refused(char *variable, const char *what)
{
	char *const environment[] = { variable, NULL };
	struct line l;

	assert_int_equal(parse_in(&l, "haul copy a nas:b", environment).code, HAUL_CODE_USAGE);
	assert_string_equal(l.problem.text, what);
}

static void the_environment_may_not_destroy_or_skip(void **state)
{
	(void)state;
	check_environment_refused("HAUL_OPTION_MAX_DELETE=1",
				  "HAUL_OPTION_MAX_DELETE is not taken from the environment");
	check_environment_refused("HAUL_OPTION_DRY_RUN=1", "HAUL_OPTION_DRY_RUN is not taken from the environment");
	check_environment_refused("HAUL_OPTION_NO_SYNC=1", "HAUL_OPTION_NO_SYNC is not taken from the environment");
	check_environment_refused("HAUL_OPTION_EXCLUDE=x", "HAUL_OPTION_EXCLUDE is not taken from the environment");
	check_environment_refused("HAUL_OPTION_ON_CONFLICT=fail",
				  "HAUL_OPTION_ON_CONFLICT is not taken from the environment");
	check_environment_refused("HAUL_OPTION_TRASH=1", "HAUL_OPTION_TRASH is not in this version");
	check_environment_refused("HAUL_OPTION_LANE=1", "HAUL_OPTION_LANE names no option of haul");
	check_environment_refused("HAUL_OPTION_VERBOSE=maybe", "HAUL_OPTION_VERBOSE takes 1 or 0");
}

static void json_is_known_before_parsing(void **state)
{
	char *const with[] = { "haul", "copy", "--json", "--nonsense", NULL };
	char *const after[] = { "haul", "copy", "--", "--json", NULL };
	char *const environment[] = { "HAUL_OPTION_JSON=1", NULL };

	(void)state;
	assert_true(invocation_wants_json(4, with, NULL));
	assert_false(invocation_wants_json(4, after, NULL));
	assert_true(invocation_wants_json(4, after, environment));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_may_stand_anywhere),
		cmocka_unit_test(letters_bundle_and_some_change_nothing),
		cmocka_unit_test(two_dashes_end_options),
		cmocka_unit_test(an_option_may_repeat),
		cmocka_unit_test(a_word_option_never_swallows_a_place),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(what_is_later_is_refused),
		cmocka_unit_test(the_whole_table_is_built_or_refused),
		cmocka_unit_test(the_environment_stands_below_the_line),
		cmocka_unit_test(the_environment_may_not_destroy_or_skip),
		cmocka_unit_test(json_is_known_before_parsing),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
