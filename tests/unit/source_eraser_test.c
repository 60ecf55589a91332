/* Notes that cannot be read, and what cannot be looked at, are told: a move does not end as if that were gone. */
#include "agent/source_eraser.h"

#include "engine/beneath.h"

#include "temp_dir.h"

#include <sys/stat.h>

struct fixture {
	struct temp_dir tree;
	struct scan_source source;
	struct eraser *eraser;
	unsigned kept;
};

static void on_kept(void *ctx, const struct eraser_entry *e, const struct haul_fault *fault)
{
	(void)e;
	(void)fault;
	((struct fixture *)ctx)->kept++;
}

static struct fixture fixture_open(void)
{
	struct fixture f = { .tree = temp_dir_open() };

	f.source.root_fd = f.tree.fd;
	assert_ok(eraser_new(f.tree.path, &f.eraser, NULL));
	return f;
}

static void fixture_close(struct fixture *f)
{
	eraser_free(f->eraser);
	temp_dir_close(&f->tree);
}

static haul_status run(struct fixture *f, struct eraser_totals *ret_totals)
{
	const struct eraser_callbacks cb = { .ctx = f, .on_kept = on_kept };
	_Atomic bool stop = false;
	struct haul_fault fault;

	return eraser_run(f->eraser, &f->source, 1, f->tree.fd, &stop, &cb, ret_totals, &fault);
}

static void nothing_noted_is_a_good_end(void **state)
{
	struct fixture f = fixture_open();
	struct eraser_totals totals;

	(void)state;
	assert_ok(run(&f, &totals));
	assert_int_equal(totals.entries, 0);
	fixture_close(&f);
}

static void a_note_that_cannot_be_read_is_told(void **state)
{
	struct fixture f = fixture_open();
	/* There is one source; this note is of a seventh. */
	const struct eraser_entry odd = { .source = 6, .source_path = "file", .landing_path = "there" };
	struct eraser_totals totals;
	int fd = openat(f.tree.fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	eraser_note(f.eraser, &odd);
	assert_code(run(&f, &totals), HAUL_IO);
	assert_int_equal(totals.entries, 0);
	assert_int_equal(fstatat(f.tree.fd, "file", &st, 0), 0);
	fixture_close(&f);
}

/* Links are not followed: what the notes call dir/sub cannot be looked at any more. */
static void a_directory_that_cannot_be_looked_at_is_told(void **state)
{
	struct fixture f = fixture_open();
	struct eraser_entry e = { .source_path = "dir/sub", .landing_path = "there" };
	struct eraser_totals totals;

	(void)state;
	assert_int_equal(mkdirat(f.tree.fd, "real", 0700), 0);
	assert_int_equal(mkdirat(f.tree.fd, "real/sub", 0700), 0);
	assert_int_equal(mkdirat(f.tree.fd, "there", 0700), 0);
	assert_int_equal(symlinkat("real", f.tree.fd, "dir"), 0);
	assert_ok(beneath_stat_at(f.tree.fd, "real/sub", &e.facts));
	eraser_note(f.eraser, &e);
	assert_ok(run(&f, &totals));
	assert_int_equal(totals.entries, 0);
	assert_int_equal(f.kept, 1);
	assert_int_equal(unlinkat(f.tree.fd, "real/sub", AT_REMOVEDIR), 0);
	fixture_close(&f);
}

static void a_directory_that_is_gone_is_not_told(void **state)
{
	struct fixture f = fixture_open();
	const struct eraser_entry e = { .source_path = "gone",
					.landing_path = "there",
					.facts = { .kind = ENTRY_DIRECTORY } };
	struct eraser_totals totals;

	(void)state;
	eraser_note(f.eraser, &e);
	assert_ok(run(&f, &totals));
	assert_int_equal(f.kept, 0);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_noted_is_a_good_end),
		cmocka_unit_test(a_note_that_cannot_be_read_is_told),
		cmocka_unit_test(a_directory_that_cannot_be_looked_at_is_told),
		cmocka_unit_test(a_directory_that_is_gone_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
