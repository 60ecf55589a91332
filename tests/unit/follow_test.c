/* Sources whose links are followed: what is found, what is left out and why, and where nothing leads. */
#include "engine/follow.h"

#include "engine/scan.h"
#include "engine/small_file.h"

#include "temp_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

struct fixture {
	struct temp_tree tree;
	int root; /* its `root`; `outside` lies beside it */
	char log[4096];
	size_t len;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	temp_tree_open_fast(&f->tree, "haul-follow");
	temp_dir(f->tree.fd, "outside");
	temp_text(f->tree.fd, "outside/secret", "secret");
	temp_dir(f->tree.fd, "root");
	temp_dir(f->tree.fd, "root/d");
	temp_text(f->tree.fd, "root/d/file", "content");
	f->root = openat(f->tree.fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = f;
	return f->root < 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	(void)close(f->root);
	temp_tree_close(&f->tree);
	free(f);
	return 0;
}

static void note(struct fixture *f, const struct scan_item *i)
{
	char *to = f->log + f->len;
	size_t room = sizeof(f->log) - f->len;

	if (i->event == SCAN_ENTRY)
		f->len += (size_t)snprintf(to, room, "%c %s %d\n", "?fdlpscb"[i->facts.kind], i -> path,
					   (int)i -> facts.size);
	else if (i->event == SCAN_PROBLEM)
		f->len += (size_t)snprintf(to, room, "! %s %d %s%s\n", i->path, (int)i->parent,
					   haul_status_text(i->problem), i->is_listing ? " listing" : "");
	else if (i->event == SCAN_DIR_END && !i->is_complete)
		f->len += (size_t)snprintf(to, room, "incomplete %s\n", i->path);
	assert_true(f->len < sizeof(f->log));
}

static void assert_scan(struct fixture *f, const struct scan_source *source, const char *expected)
{
	struct scan *s = NULL;
	struct haul_fault fault;
	struct scan_item item;

	f->len = 0;
	f->log[0] = '\0';
	assert_code(scan_new(source, 1, &s, &fault), HAUL_OK);
	do {
		assert_code(scan_next(s, &item), HAUL_OK);
		note(f, &item);
	} while (item.event != SCAN_END);
	scan_free(s);
	assert_string_equal(f->log, expected);
}

static void a_link_is_what_it_leads_to(void **state)
{
	struct fixture *f = *state;
	const struct scan_source anywhere = { f->root, "", NULL, LINKS_FOLLOWED_ANYWHERE };
	const struct scan_source below = { f->root, "", NULL, LINKS_FOLLOWED_BELOW };
	const struct scan_source named = { f->root, "to-dir", "as", LINKS_FOLLOWED_BELOW };
	const struct scan_source contents = { f->root, "to-dir", NULL, LINKS_FOLLOWED_BELOW };

	temp_link(f->tree.fd, "root/to-dir", "d");
	temp_link(f->tree.fd, "root/to-file", "d/file");
	assert_scan(f, &anywhere, "d d 0\nf d/file 7\nd to-dir 0\nf to-dir/file 7\nf to-file 7\n");
	assert_scan(f, &below, f->log);
	assert_scan(f, &named, "d as 0\nf as/file 7\n");
	assert_scan(f, &contents, "f file 7\n");
}

static void what_leads_nowhere_is_named(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->root, "", NULL, LINKS_FOLLOWED_ANYWHERE };

	temp_link(f->tree.fd, "root/d/dangling", "none");
	temp_link(f->tree.fd, "root/x", "y");
	temp_link(f->tree.fd, "root/y", "x");
	assert_scan(f, &source,
		    "d d 0\n"
		    "! d/dangling 0 a symbolic link that leads nowhere\n"
		    "f d/file 7\n"
		    "incomplete d\n"
		    "! x -1 a symbolic link that leads in a circle\n"
		    "! y -1 a symbolic link that leads in a circle\n"
		    "incomplete \n");
}

/* Two directories, links to parents: each place where the tree would begin again is named, and nothing is walked twice
 * on one way down. */
static void loops_are_named_once(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->root, "", "src", LINKS_FOLLOWED_ANYWHERE };
	const struct scan_source below = { f->root, "d", "src", LINKS_FOLLOWED_BELOW };

	temp_link(f->tree.fd, "root/d/self", ".");
	temp_link(f->tree.fd, "root/d/up", "..");
	assert_scan(f, &source,
		    "d src 0\n"
		    "d src/d 0\n"
		    "f src/d/file 7\n"
		    "! src/d/self 1 a symbolic link that leads in a circle\n"
		    "! src/d/up 1 a symbolic link that leads in a circle\n"
		    "incomplete src/d\n");
	/* A link above the top is no loop by itself; the top found below it is. */
	assert_scan(f, &below,
		    "d src 0\n"
		    "f src/file 7\n"
		    "! src/self 0 a symbolic link that leads in a circle\n"
		    "d src/up 0\n"
		    "! src/up/d 2 a symbolic link that leads in a circle\n"
		    "incomplete src/up\n"
		    "incomplete src\n");
}

static void below_means_below(void **state)
{
	struct fixture *f = *state;
	const struct scan_source below = { f->root, "", NULL, LINKS_FOLLOWED_BELOW };
	const struct scan_source anywhere = { f->root, "", NULL, LINKS_FOLLOWED_ANYWHERE };

	temp_link(f->tree.fd, "root/absolute", "/etc/passwd");
	temp_link(f->tree.fd, "root/out", "../outside");
	assert_scan(f, &below,
		    "! absolute -1 a symbolic link that leads out of the share\n"
		    "d d 0\nf d/file 7\n"
		    "! out -1 a symbolic link that leads out of the share\n"
		    "incomplete \n");
	assert_int_equal(unlinkat(f->root, "absolute", 0), 0);
	assert_scan(f, &anywhere, "d d 0\nf d/file 7\nd out 0\nf out/secret 6\n");
}

/* The readers follow the same rule as the scan, whatever has been swapped in since. */
static void readers_go_by_the_rule(void **state)
{
	static const struct {
		const char *path;
		enum link_rule links;
		enum haul_code code;
	} cases[] = {
		{ "to-dir/file", LINKS_KEPT, HAUL_CODE_LINK_IN_PATH },
		{ "to-dir/file", LINKS_FOLLOWED_BELOW, HAUL_CODE_OK },
		{ "to-dir/file", LINKS_FOLLOWED_ANYWHERE, HAUL_CODE_OK },
		{ "out/secret", LINKS_FOLLOWED_BELOW, HAUL_CODE_LINK_LEADS_OUT },
		{ "out/secret", LINKS_FOLLOWED_ANYWHERE, HAUL_CODE_CHANGED },
		{ "d/none", LINKS_FOLLOWED_BELOW, HAUL_CODE_NOT_FOUND },
		{ "d/dangling", LINKS_FOLLOWED_BELOW, HAUL_CODE_LINK_DANGLES },
		{ "../outside/secret", LINKS_FOLLOWED_ANYWHERE, HAUL_CODE_BAD_VALUE },
	};
	struct fixture *f = *state;
	struct source_place at = { f->root, "to-dir/file", LINKS_FOLLOWED_BELOW };
	struct entry_facts expect, facts;
	char buf[16];
	size_t len;

	temp_link(f->tree.fd, "root/to-dir", "d");
	temp_link(f->tree.fd, "root/out", "../outside");
	temp_link(f->tree.fd, "root/d/dangling", "none");
	assert_code(follow_stat(&at, &expect), HAUL_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		at = (struct source_place){ f->root, cases[i].path, cases[i].links };
		assert_int_equal(small_file_read(&at, &expect, buf, sizeof(buf), &len, &facts).code, cases[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_link_is_what_it_leads_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_leads_nowhere_is_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(loops_are_named_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(below_means_below, set_up, tear_down),
		cmocka_unit_test_setup_teardown(readers_go_by_the_rule, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
