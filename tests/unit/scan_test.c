/* The order of a scan, what merges and what clashes, and what happens when the tree changes under it. */
#include "engine/scan.h"

#include "temp_tree.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <cmocka.h>

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

struct fixture {
	struct temp_tree tree;
	char *log; /* what a scan said, one line per item */
	size_t len;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	temp_tree_open_fast(&f->tree, "haul-scan");
	f->log = calloc(1, 1 << 20);
	*state = f;
	return !f->log;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	temp_tree_close(&f->tree);
	free(f->log);
	free(f);
	return 0;
}

static struct scan *new_scan(const struct scan_source *sources, size_t count)
{
	struct scan *s = NULL;
	struct haul_fault fault;

	assert_code(scan_new(sources, count, &s, &fault), HAUL_OK);
	return s;
}

static struct scan_item next(struct scan *s)
{
	struct scan_item item;

	assert_code(scan_next(s, &item), HAUL_OK);
	return item;
}

static char kind_letter(enum entry_kind kind)
{
	return "?fdlpscb"[kind];
}

static void note(struct fixture *f, const struct scan_item *i)
{
	char *to = f->log + f->len;
	size_t room = (1 << 20) - f->len;

	switch (i->event) {
	case SCAN_ENTRY:
		f->len += (size_t)snprintf(to, room, "%d<%d %c %s = %u:%s%s%s\n", (int)i->index, (int)i->parent,
					   kind_letter(i->facts.kind), i->path, i->source, i->source_path,
					   i->link_target ? " -> " : "", i->link_target ? i->link_target : "");
		assert_string_equal(i->name, strrchr(i->path, '/') ? strrchr(i->path, '/') + 1 : i->path);
		break;
	case SCAN_DIR_END:
		f->len += (size_t)snprintf(to, room, "%d end %s %d%s\n", (int)i->index, i->path, (int)i->count,
					   i->is_complete ? "" : " incomplete");
		break;
	case SCAN_PROBLEM:
		f->len += (size_t)snprintf(to, room, "! %s = %u:%s %s\n", i->path, i->source, i->source_path,
					   haul_status_text(i->problem));
		break;
	case SCAN_END:
		break;
	}
}

static void run(struct fixture *f, struct scan *s)
{
	struct scan_item item;

	f->len = 0;
	f->log[0] = '\0';
	do {
		item = next(s);
		note(f, &item);
	} while (item.event != SCAN_END);
	assert_int_equal(next(s).event, SCAN_END);
	scan_free(s);
}

static void assert_scan(struct fixture *f, const struct scan_source *sources, size_t count, const char *expected)
{
	run(f, new_scan(sources, count));
	assert_string_equal(f->log, expected);
}

static void an_empty_tree_is_its_end(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };

	assert_scan(f, &source, 1, "-1 end  0\n");
	assert_scan(f, NULL, 0, "-1 end  0\n");
}

static void siblings_come_in_byte_order(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };

	temp_text(f->tree.fd, "b", "x");
	temp_text(f->tree.fd, "B", "x");
	temp_text(f->tree.fd, "a-", "x");
	temp_dir(f->tree.fd, "a");
	temp_text(f->tree.fd, "a/z", "x");
	temp_dir(f->tree.fd, "a/e");
	temp_text(f->tree.fd, "a.", "x");
	temp_text(f->tree.fd, "\xff", "x");
	temp_text(f->tree.fd, "\x7f", "x");
	temp_link(f->tree.fd, "a!", "nowhere");
	assert_scan(f, &source, 1,
		    "0<-1 f B = 0:B\n"
		    "1<-1 d a = 0:a\n"
		    "2<1 d a/e = 0:a/e\n"
		    "2 end a/e 0\n"
		    "3<1 f a/z = 0:a/z\n"
		    "1 end a 2\n"
		    "4<-1 l a! = 0:a! -> nowhere\n"
		    "5<-1 f a- = 0:a-\n"
		    "6<-1 f a. = 0:a.\n"
		    "7<-1 f b = 0:b\n"
		    "8<-1 f \x7f = 0:\x7f\n"
		    "9<-1 f \xff = 0:\xff\n"
		    "-1 end  8\n");
}

static void haul_s_own_names_are_left_out(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };

	temp_dir(f->tree.fd, ".haul");
	temp_text(f->tree.fd, ".haul/x", "x");
	temp_text(f->tree.fd, ".haul.0123.part", "x");
	temp_text(f->tree.fd, ".Haul-x", "x");
	temp_text(f->tree.fd, ".hauler", "x");
	assert_scan(f, &source, 1, "0<-1 f .hauler = 0:.hauler\n-1 end  1\n");
}

static void every_kind_is_told(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };

	assert_int_equal(mkfifoat(f->tree.fd, "fifo", 0600), 0);
	temp_link(f->tree.fd, "link", "/etc/passwd");
	temp_text(f->tree.fd, "file", "12345");
	assert_scan(f, &source, 1,
		    "0<-1 p fifo = 0:fifo\n1<-1 f file = 0:file\n2<-1 l link = 0:link -> /etc/passwd\n-1 end  3\n");
}

static void one_source_lands_under_its_name(void **state)
{
	struct fixture *f = *state;
	const struct scan_source dir = { f->tree.fd, "x/dir", "as", LINKS_KEPT };
	const struct scan_source file = { f->tree.fd, "x/dir/file", "as", LINKS_KEPT };
	const struct scan_source link = { f->tree.fd, "x/link", "as", LINKS_KEPT };
	const struct scan_source whole = { f->tree.fd, "", "as", LINKS_KEPT };

	temp_dir(f->tree.fd, "x");
	temp_dir(f->tree.fd, "x/dir");
	temp_text(f->tree.fd, "x/dir/file", "x");
	temp_link(f->tree.fd, "x/link", "dir");
	assert_scan(f, &dir, 1, "0<-1 d as = 0:x/dir\n1<0 f as/file = 0:x/dir/file\n0 end as 1\n-1 end  1\n");
	assert_scan(f, &file, 1, "0<-1 f as = 0:x/dir/file\n-1 end  1\n");
	assert_scan(f, &link, 1, "0<-1 l as = 0:x/link -> dir\n-1 end  1\n");
	assert_scan(f, &whole, 1,
		    "0<-1 d as = 0:\n1<0 d as/x = 0:x\n2<1 d as/x/dir = 0:x/dir\n3<2 f as/x/dir/file = 0:x/dir/file\n"
		    "2 end as/x/dir 1\n4<1 l as/x/link = 0:x/link -> dir\n1 end as/x 2\n0 end as 1\n-1 end  1\n");
}

static void sources_merge(void **state)
{
	struct fixture *f = *state;
	const struct scan_source sources[] = { { f->tree.fd, "one", NULL, LINKS_KEPT },
					       { f->tree.fd, "two", NULL, LINKS_KEPT },
					       { f->tree.fd, "three", "d", LINKS_KEPT } };

	temp_dir(f->tree.fd, "one");
	temp_dir(f->tree.fd, "one/d");
	temp_text(f->tree.fd, "one/d/a", "1");
	temp_text(f->tree.fd, "one/d/same", "1");
	temp_text(f->tree.fd, "one/kind", "1");
	temp_dir(f->tree.fd, "two");
	temp_dir(f->tree.fd, "two/d");
	temp_text(f->tree.fd, "two/d/b", "2");
	temp_text(f->tree.fd, "two/d/same", "2");
	temp_dir(f->tree.fd, "two/kind");
	temp_text(f->tree.fd, "two/kind/lost", "2");
	temp_dir(f->tree.fd, "three");
	temp_text(f->tree.fd, "three/c", "3");
	temp_text(f->tree.fd, "three/same", "3");
	assert_scan(f, sources, 3,
		    "0<-1 d d = 0:one/d\n"
		    "1<0 f d/a = 0:one/d/a\n"
		    "2<0 f d/b = 1:two/d/b\n"
		    "3<0 f d/c = 2:three/c\n"
		    "4<0 f d/same = 0:one/d/same\n"
		    "! d/same = 1:two/d/same already exists\n"
		    "! d/same = 2:three/same already exists\n"
		    "0 end d 4\n"
		    "5<-1 f kind = 0:one/kind\n"
		    "! kind = 1:two/kind already exists\n"
		    "-1 end  2\n");
}

static void a_clash_with_a_directory_comes_before_its_contents(void **state)
{
	struct fixture *f = *state;
	const struct scan_source sources[] = { { f->tree.fd, "one", NULL, LINKS_KEPT },
					       { f->tree.fd, "two", NULL, LINKS_KEPT },
					       { f->tree.fd, "three", NULL, LINKS_KEPT } };

	temp_dir(f->tree.fd, "one");
	temp_dir(f->tree.fd, "one/d");
	temp_text(f->tree.fd, "one/d/a", "1");
	temp_dir(f->tree.fd, "two");
	temp_text(f->tree.fd, "two/d", "2");
	temp_dir(f->tree.fd, "three");
	temp_dir(f->tree.fd, "three/d");
	temp_text(f->tree.fd, "three/d/b", "3");
	assert_scan(f, sources, 3,
		    "0<-1 d d = 0:one/d\n"
		    "! d = 1:two/d already exists\n"
		    "1<0 f d/a = 0:one/d/a\n"
		    "2<0 f d/b = 2:three/d/b\n"
		    "0 end d 2\n"
		    "-1 end  1\n");
}

static void two_sources_of_one_name_clash(void **state)
{
	struct fixture *f = *state;
	const struct scan_source sources[] = { { f->tree.fd, "one", "x", LINKS_KEPT },
					       { f->tree.fd, "two", "x", LINKS_KEPT } };

	temp_text(f->tree.fd, "one", "1");
	temp_text(f->tree.fd, "two", "2");
	assert_scan(f, sources, 2, "0<-1 f x = 0:one\n! x = 1:two already exists\n-1 end  1\n");
}

static void a_missing_source_is_a_problem(void **state)
{
	struct fixture *f = *state;
	const struct scan_source sources[] = { { f->tree.fd, "none", NULL, LINKS_KEPT },
					       { f->tree.fd, "gone", "x", LINKS_KEPT },
					       { f->tree.fd, "file", NULL, LINKS_KEPT } };

	temp_text(f->tree.fd, "file", "x");
	assert_scan(f, sources, 3,
		    "!  = 0:none no such file or directory\n!  = 2:file not a directory\n"
		    "! x = 1:gone no such file or directory\n-1 end  0 incomplete\n");
}

static void a_landing_name_is_checked(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b" };
	struct fixture *f = *state;
	struct haul_fault fault;
	struct scan *s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct scan_source source = { f->tree.fd, "", bad[i], LINKS_KEPT };

		assert_code(scan_new(&source, 1, &s, &fault), HAUL_BAD_VALUE);
	}
	assert_code(scan_new(&(struct scan_source){ f->tree.fd, "", ".HAUL", LINKS_KEPT }, 1, &s, &fault),
		    HAUL_RESERVED_NAME);
}

static void what_vanishes_is_a_problem(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };
	struct scan *s = new_scan(&source, 1);

	temp_text(f->tree.fd, "a", "x");
	temp_text(f->tree.fd, "b", "x");
	temp_text(f->tree.fd, "c", "x");
	assert_string_equal(next(s).path, "a");
	assert_int_equal(unlinkat(f->tree.fd, "b", 0), 0);
	run(f, s);
	assert_string_equal(f->log, "! b = 0:b no such file or directory\n1<-1 f c = 0:c\n-1 end  2\n");
}

static void a_directory_that_becomes_a_link_is_not_followed(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "in", NULL, LINKS_KEPT };
	struct scan *s;

	temp_dir(f->tree.fd, "in");
	temp_dir(f->tree.fd, "in/a");
	temp_dir(f->tree.fd, "out");
	temp_text(f->tree.fd, "out/secret", "x");
	s = new_scan(&source, 1);
	assert_string_equal(next(s).path, "a");
	assert_int_equal(unlinkat(f->tree.fd, "in/a", AT_REMOVEDIR), 0);
	temp_link(f->tree.fd, "in/a", "../out");
	run(f, s);
	assert_string_equal(f->log,
			    "! a = 0:in/a a symbolic link stands in the path\n0 end a 0 incomplete\n-1 end  1\n");
}

static void a_directory_that_is_exchanged_is_told(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "in", NULL, LINKS_KEPT };
	struct scan *s;

	temp_dir(f->tree.fd, "in");
	temp_dir(f->tree.fd, "in/a");
	temp_dir(f->tree.fd, "out");
	temp_text(f->tree.fd, "out/secret", "x");
	s = new_scan(&source, 1);
	assert_string_equal(next(s).path, "a");
	assert_int_equal(renameat(f->tree.fd, "in/a", f->tree.fd, "in/b"), 0);
	assert_int_equal(renameat(f->tree.fd, "out", f->tree.fd, "in/a"), 0);
	run(f, s);
	assert_string_equal(f->log, "! a = 0:in/a changed while it was read\n0 end a 0 incomplete\n-1 end  1\n");
}

static void scan_unreadable(struct fixture *f)
{
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };

	run(f, new_scan(&source, 1));
	if (strcmp(f->log, "0<-1 d closed = 0:closed\n"
			   "! closed = 0:closed permission denied\n"
			   "0 end closed 0 incomplete\n"
			   "1<-1 d listed = 0:listed\n"
			   "! listed/x = 0:listed/x permission denied\n"
			   "1 end listed 0 incomplete\n"
			   "2<-1 d open = 0:open\n"
			   "2 end open 0\n"
			   "-1 end  3\n") == 0)
		_exit(0);
	(void)fputs(f->log, stderr);
	_exit(1);
}

static void unreadable_directories_are_told(void **state)
{
	struct fixture *f = *state;
	int status = -1;
	pid_t child;

	temp_dir(f->tree.fd, "closed");
	temp_text(f->tree.fd, "closed/x", "x");
	temp_dir(f->tree.fd, "listed");
	temp_text(f->tree.fd, "listed/x", "x");
	temp_dir(f->tree.fd, "open");
	assert_int_equal(fchmodat(f->tree.fd, "closed", 0, 0) | fchmodat(f->tree.fd, "listed", 0444, 0) |
			     fchmod(f->tree.fd, 0755),
			 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && seteuid(4000) < 0)
			_exit(2);
		scan_unreadable(f);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A chain of `depth` directories, each with a file (if asked) that comes after the next directory. */
static void make_chain(int fd, unsigned depth, bool with_files)
{
	int dir = dup(fd);

	for (unsigned i = 0; i < depth; i++) {
		int below;

		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		if (with_files)
			temp_text(dir, "z", "x");
		below = openat(dir, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		(void)close(dir);
		dir = below;
	}
	(void)close(dir);
}

static void depth_takes_few_handles(void **state)
{
	enum { DEPTH = 1500 };
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };
	unsigned before = temp_count(AT_FDCWD, "/proc/self/fd"), most = 0, entries = 0, ends = 0;
	struct scan_item item;
	struct scan *s;

	make_chain(f->tree.fd, DEPTH, true);
	s = new_scan(&source, 1);
	while ((item = next(s)).event != SCAN_END) {
		unsigned now = entries % 50 == 0 ? temp_count(AT_FDCWD, "/proc/self/fd") : 0;

		assert_true(item.event != SCAN_PROBLEM && (item.event == SCAN_ENTRY || item.is_complete));
		entries += item.event == SCAN_ENTRY;
		ends += item.event == SCAN_DIR_END;
		most = now > most ? now : most;
	}
	scan_free(s);
	assert_int_equal(entries, 2 * DEPTH);
	assert_int_equal(ends, DEPTH + 1);
	assert_true(most - before <= 64);
	assert_int_equal(temp_count(AT_FDCWD, "/proc/self/fd"), before);
}

static void what_is_too_deep_is_told(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };
	unsigned problems = 0, entries = 0, incomplete = 0;
	struct scan_item item;
	struct scan *s;

	make_chain(f->tree.fd, HAUL_DEPTH_MAX + 10, false);
	s = new_scan(&source, 1);
	while ((item = next(s)).event != SCAN_END) {
		entries += item.event == SCAN_ENTRY;
		incomplete += item.event == SCAN_DIR_END && !item.is_complete;
		problems += item.event == SCAN_PROBLEM;
		if (item.event == SCAN_PROBLEM)
			assert_code(item.problem, HAUL_NAME_TOO_LONG);
	}
	scan_free(s);
	assert_int_equal(problems, 1);
	assert_int_equal(incomplete, 1);
	assert_int_equal(entries, HAUL_DEPTH_MAX);
}

/* A directory on the way down is exchanged while the scan is far below it and has had to close its handle. */
static void a_lost_directory_is_told_once(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "in", NULL, LINKS_KEPT };
	unsigned problems = 0, lost_names = 0;
	struct scan_item item;
	struct scan *s;

	temp_dir(f->tree.fd, "in");
	temp_dir(f->tree.fd, "in/top");
	temp_dir(f->tree.fd, "in/top/a");
	temp_text(f->tree.fd, "in/top/b", "x");
	temp_text(f->tree.fd, "in/top/c", "x");
	{
		int a = openat(f->tree.fd, "in/top/a", O_PATH | O_DIRECTORY | O_CLOEXEC);

		make_chain(a, 100, true);
		(void)close(a);
	}
	s = new_scan(&source, 1);
	do {
		item = next(s);
	} while (strlen(item.path) < 2 * 90);
	assert_int_equal(renameat(f->tree.fd, "in/top", f->tree.fd, "in/moved"), 0);
	temp_dir(f->tree.fd, "in/top");
	temp_text(f->tree.fd, "in/top/b", "somebody else's");
	while ((item = next(s)).event != SCAN_END) {
		if (item.event == SCAN_ENTRY)
			lost_names += strcmp(item.path, "top/b") == 0 || strcmp(item.path, "top/c") == 0;
		if (item.event == SCAN_PROBLEM && strcmp(item.path, "top") == 0) {
			problems++;
			assert_code(item.problem, HAUL_CHANGED);
		}
		if (item.event == SCAN_DIR_END && strcmp(item.path, "top") == 0)
			assert_false(item.is_complete);
	}
	scan_free(s);
	assert_int_equal(problems, 1);
	assert_int_equal(lost_names, 0);
}

static void a_directory_of_many_files_is_linear(void **state)
{
	enum { FILES = 50000 };
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };
	struct mallinfo2 before = mallinfo2(), after;
	unsigned entries = 0;
	struct scan_item item;
	struct scan *s;
	char last[64] = "";

	temp_text(f->tree.fd, "first", "x");
	for (unsigned i = 0; i < FILES; i++) {
		char name[64];

		/* Links to one file: the cheapest entries there are. */
		(void)snprintf(name, sizeof(name), "a file of the many, number %08u", i * 7919u % FILES);
		assert_int_equal(linkat(f->tree.fd, "first", f->tree.fd, name, 0), 0);
	}
	s = new_scan(&source, 1);
	while ((item = next(s)).event != SCAN_END) {
		if (item.event != SCAN_ENTRY)
			continue;
		entries++;
		assert_true(strcmp(last, item.name) < 0);
		(void)snprintf(last, sizeof(last), "%s", item.name);
		if (entries == 1) {
			after = mallinfo2();
			assert_true(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd < 10u << 20);
		}
	}
	scan_free(s);
	assert_int_equal(entries, FILES + 1);
}

static void a_scan_may_be_dropped_half_way(void **state)
{
	struct fixture *f = *state;
	const struct scan_source source = { f->tree.fd, "", NULL, LINKS_KEPT };
	unsigned before = temp_count(AT_FDCWD, "/proc/self/fd");
	struct scan *s;

	make_chain(f->tree.fd, 100, true);
	for (unsigned steps = 0; steps < 150; steps++) {
		s = new_scan(&source, 1);
		for (unsigned i = 0; i < steps; i++)
			(void)next(s);
		scan_free(s);
	}
	scan_free(NULL);
	assert_int_equal(temp_count(AT_FDCWD, "/proc/self/fd"), before);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(an_empty_tree_is_its_end),
		test(siblings_come_in_byte_order),
		test(haul_s_own_names_are_left_out),
		test(every_kind_is_told),
		test(one_source_lands_under_its_name),
		test(sources_merge),
		test(a_clash_with_a_directory_comes_before_its_contents),
		test(two_sources_of_one_name_clash),
		test(a_missing_source_is_a_problem),
		test(a_landing_name_is_checked),
		test(what_vanishes_is_a_problem),
		test(a_directory_that_becomes_a_link_is_not_followed),
		test(a_directory_that_is_exchanged_is_told),
		test(unreadable_directories_are_told),
		test(depth_takes_few_handles),
		test(what_is_too_deep_is_told),
		test(a_lost_directory_is_told_once),
		test(a_directory_of_many_files_is_linear),
		test(a_scan_may_be_dropped_half_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
