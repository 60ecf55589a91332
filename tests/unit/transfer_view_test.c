/* What a person sees of a transfer, event by event: the observer is fed by hand, its output is read back. */
#include "cli/transfer_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	char *out, *err, *failed;
	size_t out_len, err_len, failed_len;
	FILE *failed_file;
	struct output_file failed_out;
	struct console console;
	struct transfer_request request;
	struct place_spec source, destination;
	struct transfer_view view;
	struct transfer_observer obs;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->console.out = open_memstream(&f->out, &f->out_len);
	f->console.err = open_memstream(&f->err, &f->err_len);
	f->failed_file = open_memstream(&f->failed, &f->failed_len);
	f->failed_out = (struct output_file){ .file = f->failed_file, .is_begun = true };
	f->destination.is_remote = true;
	f->request =
	    (struct transfer_request){ .sources = &f->source, .source_count = 1, .destination = &f->destination };
	f->view = (struct transfer_view){ .console = &f->console,
					  .verb_name = "copy",
					  .request = &f->request,
					  .environment = "",
					  .failed_to = &f->failed_out };
	f->obs = transfer_view_observer(&f->view);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)fclose(f->console.out);
	(void)fclose(f->console.err);
	(void)fclose(f->failed_file);
	free(f->out);
	free(f->err);
	free(f->failed);
	free(f);
	return 0;
}

static void land(struct fixture *f)
{
	struct transfer_landing l = { .source = "Footage", .destination = "nas:inbox/day1/Footage", .is_new = true };

	f->obs.on_landing(f->obs.ctx, &l, 1);
}

static const char *err_text(struct fixture *f)
{
	(void)fflush(f->console.err);
	return f->err;
}

static const char *out_text(struct fixture *f)
{
	(void)fflush(f->console.out);
	return f->out;
}

static void fail_one(struct fixture *f)
{
	struct transfer_problem p = { .code = HAUL_CODE_DENIED,
				      .exit_code = 3,
				      .side = "source",
				      .path = "day\n1/a",
				      .text = "$'day\\n1/a' may not be read.",
				      .remedy = "Run haul as its owner" };

	f->obs.on_error(f->obs.ctx, &p);
}

static void the_landing_comes_first(void **state)
{
	struct fixture *f = *state;
	struct transfer_landing l[] = { { .source = "a b",
					  .destination = "nas:inbox/x/a b",
					  .is_new = true,
					  .is_link = true,
					  .made_parents = "nas:inbox/x" },
					{ .source = "c/", .destination = "nas:inbox/x", .is_contents = true } };

	f->view.environment = "--lanes=4";
	f->obs.on_landing(f->obs.ctx, l, 2);
	f->obs.on_note(f->obs.ctx, "a note");
	assert_string_equal(err_text(f),
			    "a b -> nas:inbox/x/a b (new); from the environment: --lanes=4\n"
			    "c/ -> nas:inbox/x (contents, exists)\n"
			    "makes nas:inbox/x\n"
			    "a b is a link and lands as a link. For what it points to: a slash at its end, "
			    "or -L\n"
			    "a note\n");
	assert_string_equal(out_text(f), "");
}

static void a_new_connection_is_an_event(void **state)
{
	struct fixture *f = *state;

	f->obs.on_reconnected(f->obs.ctx, 2, 1.5);
	assert_string_equal(out_text(f), "");
	f->console.is_json = true;
	f->obs.on_reconnected(f->obs.ctx, 2, 1.5);
	assert_non_null(strstr(out_text(f), "{\"event\":\"reconnected\",\"count\":2,\"after_s\":1.5"));
	assert_string_equal(err_text(f), "");
}

static void names_how_to_check_again(void **state)
{
	struct fixture *f = *state;
	struct transfer_landing l = { .source = "a b", .destination = "nas:inbox/it's" };
	struct transfer_report r = { .files_total = 1, .elapsed_s = 1 };

	f->obs.on_landing(f->obs.ctx, &l, 1);
	assert_int_equal(transfer_view_end(&f->view, &r), 0);
	assert_non_null(strstr(err_text(f), "Check again: haul verify 'a b' 'nas:inbox/it'\\''s'\n"));
}

static void quiet_says_only_what_failed(void **state)
{
	struct fixture *f = *state;
	struct transfer_report r = { .exit_code = 3 };

	f->console.is_quiet = true;
	land(f);
	fail_one(f);
	assert_int_equal(transfer_view_end(&f->view, &r), 3);
	assert_string_equal(err_text(f), "$'day\\n1/a' may not be read. Run haul as its owner\n");
	(void)fflush(f->failed_file);
	assert_int_equal(f->failed_len, sizeof("day\n1/a"));
	assert_memory_equal(f->failed, "day\n1/a", sizeof("day\n1/a"));
}

static void a_dry_run_itemizes_on_stdout(void **state)
{
	struct fixture *f = *state;
	struct transfer_entry e = { .path = "a\nb", .kind = ENTRY_FILE, .changes = TRANSFER_CREATED };

	f->request.dry_run = true;
	f->obs.on_entry(f->obs.ctx, &e);
	e.changes = TRANSFER_CONTENT | TRANSFER_SIZE | TRANSFER_TIME;
	f->obs.on_entry(f->obs.ctx, &e);
	e = (struct transfer_entry){ .path = "d", .kind = ENTRY_DIRECTORY, .changes = TRANSFER_CREATED };
	f->obs.on_entry(f->obs.ctx, &e);
	e = (struct transfer_entry){ .path = "d/l", .kind = ENTRY_LINK, .changes = TRANSFER_CONTENT };
	f->obs.on_entry(f->obs.ctx, &e);
	e = (struct transfer_entry){ .path = "same", .kind = ENTRY_FILE };
	f->obs.on_entry(f->obs.ctx, &e);
	f->destination.is_remote = false;
	e = (struct transfer_entry){ .path = "", .kind = ENTRY_FILE, .changes = TRANSFER_MODE };
	f->obs.on_entry(f->obs.ctx, &e);
	e.changes = TRANSFER_CREATED;
	f->obs.on_entry(f->obs.ctx, &e);
	assert_string_equal(out_text(f), "<f+++++++++ $'a\\nb'\n"
					 "<fcst...... $'a\\nb'\n"
					 "cd+++++++++ d\n"
					 "cLc........ d/l\n"
					 ".f...p..... ./\n"
					 ">f+++++++++ ./\n");
}

static void verify_names_each_difference(void **state)
{
	struct fixture *f = *state;
	struct transfer_entry e = {
		.path = "a", .kind = ENTRY_FILE, .changes = TRANSFER_CONTENT, .has_offset = true, .offset = 1048576
	};

	f->request.verb = TRANSFER_VERIFY;
	f->obs.on_entry(f->obs.ctx, &e);
	e = (struct transfer_entry){ .path = "b", .kind = ENTRY_FILE, .changes = TRANSFER_MISSING };
	f->obs.on_entry(f->obs.ctx, &e);
	e = (struct transfer_entry){ .path = "c", .kind = ENTRY_FILE, .changes = TRANSFER_TIME | TRANSFER_MODE };
	f->obs.on_entry(f->obs.ctx, &e);
	e.changes = TRANSFER_SURPLUS;
	f->obs.on_entry(f->obs.ctx, &e);
	f->console.is_quiet = true;
	f->obs.on_entry(f->obs.ctx, &e);
	assert_string_equal(out_text(f), "content differs from byte 1048576: a\n"
					 "missing at the destination: b\n"
					 "time and mode differ: c\n"
					 "only at the destination: c\n");
}

static void json_gets_every_event_and_done_last(void **state)
{
	struct fixture *f = *state;
	struct transfer_entry e = { .path = "a", .kind = ENTRY_FILE, .size = 3, .changes = TRANSFER_CREATED };
	struct transfer_progress p = { .elapsed_s = 1 };
	struct transfer_report r = { .exit_code = 3,
				     .reasons = { 3 },
				     .reason_count = 1,
				     .files_total = 2,
				     .lanes = 4,
				     .has_root = true,
				     .job_root.bytes = { 0xab, 1 },
				     .limited_by = LIMIT_NETWORK };
	const char *done;

	f->console.is_json = true;
	land(f);
	f->obs.on_progress(f->obs.ctx, &p);
	p.elapsed_s = 1.5; /* too soon for another */
	f->obs.on_progress(f->obs.ctx, &p);
	f->obs.on_entry(f->obs.ctx, &e);
	fail_one(f);
	(void)transfer_view_end(&f->view, &r);
	assert_non_null(strstr(out_text(f), "{\"event\":\"start\",\"schema\":1,\"verb\":\"copy\""));
	assert_non_null(strstr(f->out, "{\"event\":\"file\",\"path\":\"a\",\"kind\":\"file\",\"size\":3"));
	assert_non_null(strstr(f->out, "\"side\":\"source\",\"path\":\"day\\n1/a\""));
	assert_ptr_equal(strstr(strstr(f->out, "progress") + 1, "\"progress\""), NULL);
	done = strstr(f->out, "{\"event\":\"done\",\"exit\":3,\"reasons\":[3],");
	assert_non_null(done);
	assert_non_null(strstr(done, "\"verified\":false"));
	assert_non_null(strstr(done, "\"limited_by\":\"network\""));
	assert_non_null(strstr(done, "\"job_root\":\"ab010000000000000000000000000000\""));
	assert_ptr_equal(strchr(done, '\n') + 1, f->out + f->out_len);
}

static void strict_counts_warnings_as_failures(void **state)
{
	struct fixture *f = *state;
	struct transfer_problem p = { .text = "2 fifos left out", .exit_code = 0 };
	struct transfer_report r = { .files_total = 1 };

	f->obs.on_warning(f->obs.ctx, &p);
	assert_int_equal(transfer_view_end(&f->view, &r), 0);
	f->view.strict = true;
	assert_int_equal(transfer_view_end(&f->view, &r), 3);
	assert_int_equal(r.reason_count, 1);
}

static void a_refusal_has_no_summary(void **state)
{
	struct fixture *f = *state;
	struct transfer_report r = { .exit_code = 6 };

	fail_one(f);
	assert_int_equal(transfer_view_end(&f->view, &r), 6);
	assert_string_equal(err_text(f), "$'day\\n1/a' may not be read. Run haul as its owner\n");
}

#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		VIEW_TEST(the_landing_comes_first),
		VIEW_TEST(a_new_connection_is_an_event),
		VIEW_TEST(names_how_to_check_again),
		VIEW_TEST(quiet_says_only_what_failed),
		VIEW_TEST(a_dry_run_itemizes_on_stdout),
		VIEW_TEST(verify_names_each_difference),
		VIEW_TEST(json_gets_every_event_and_done_last),
		VIEW_TEST(strict_counts_warnings_as_failures),
		VIEW_TEST(a_refusal_has_no_summary),
	};

	return cmocka_run_group_tests_name("transfer_view", tests, NULL, NULL);
}
