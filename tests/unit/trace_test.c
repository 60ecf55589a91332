/* A trace has every span that found room, counts the others, and never stops a transfer. */
#include "agent/trace.h"

#include "cmocka_first.h"
#include "temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t session[32] = { 0xab, 0xcd, [7] = 0x01, [8] = 0xff };

static struct trace_span span_of(uint64_t entry)
{
	return (struct trace_span){ .stage = TRACE_READ,
				    .entry = entry,
				    .leaves = 4,
				    .bytes = 4 << 20,
				    .start_ns = UINT64_C(1) << 62,
				    .end_ns = (UINT64_C(1) << 62) + 5,
				    .busy_ns = 5 };
}

static unsigned begin_job(struct trace *t)
{
	const struct trace_job_facts facts = {
		.is_source = true, .lanes = 2, .blocks_per_lane = 8, .block_bytes = 4 << 20, .session_id = session
	};

	return trace_job(t, &facts);
}

/* Lines of the file that hold the text; the last of them. */
static unsigned count_lines(const char *path, const char *text, char *ret_last, size_t cap)
{
	FILE *f = fopen(path, "re");
	char line[512];
	unsigned count = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, text))
			continue;
		count++;
		(void)snprintf(ret_last, cap, "%s", line);
	}
	(void)fclose(f);
	return count;
}

static void off_is_null_everywhere(void **state)
{
	struct trace_span span = { 0 };

	(void)state;
	assert_int_equal(begin_job(NULL), 0);
	assert_null(trace_track_new(NULL, 1, true, 0));
	assert_int_equal(trace_now(NULL), 0);
	trace_work(NULL, &span, 7);
	assert_int_equal(span.start_ns, 0);
	trace_put(NULL, &span);
	trace_track_close(NULL);
	assert_ok(trace_close(NULL, NULL));
}

static void a_span_becomes_a_line(void **state)
{
	struct temp_dir dir = temp_dir_open();
	char path[PATH_MAX], line[512];
	struct trace_track *k;
	struct trace *t;
	struct trace_span span = span_of(7);
	unsigned job;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/trace", dir.path);
	assert_ok(trace_open(path, &t, NULL));
	job = begin_job(t);
	assert_int_equal(job, 1);
	assert_int_equal(begin_job(t), 2);
	k = trace_track_new(t, job, true, 3);
	trace_put(k, &span);
	trace_track_close(k);
	assert_ok(trace_close(t, NULL));
	assert_int_equal(count_lines(path, "\"session\":\"abcd000000000001\"", line, sizeof(line)), 2);
	assert_int_equal(count_lines(path,
				     "\"job\":1,\"side\":\"source\",\"lane\":3,\"stage\":\"read\",\"entry\":7,"
				     "\"leaf\":0,\"leaves\":4,\"bytes\":4194304,",
				     line, sizeof(line)),
			 1);
	assert_non_null(strstr(line, "\"busy\":5}\n"));
	temp_dir_close(&dir);
}

static void work_of_a_block_adds_up(void **state)
{
	struct temp_dir dir = temp_dir_open();
	struct trace_span span = { 0 };
	struct trace_track *k;
	struct trace *t;
	char path[PATH_MAX];
	uint64_t first, second;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/trace", dir.path);
	assert_ok(trace_open(path, &t, NULL));
	k = trace_track_new(t, 1, false, 0);
	first = trace_now(k);
	trace_work(k, &span, first);
	second = trace_now(k);
	trace_work(k, &span, second);
	assert_int_equal(span.start_ns, first);
	assert_true(span.end_ns >= second);
	assert_true(span.busy_ns <= span.end_ns - span.start_ns);
	trace_track_close(k);
	assert_ok(trace_close(t, NULL));
	temp_dir_close(&dir);
}

/* Faster than any disk: what finds no chunk is counted, and together nothing is missing. */
static void what_finds_no_room_is_counted(void **state)
{
	enum { SPANS = 4 * TRACE_CHUNKS * TRACE_CHUNK_SPANS };
	struct temp_dir dir = temp_dir_open();
	char path[PATH_MAX], line[512];
	unsigned long long dropped, all_dropped = 0;
	struct trace_track *k;
	struct trace *t;
	FILE *f;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/trace", dir.path);
	assert_ok(trace_open(path, &t, NULL));
	k = trace_track_new(t, 1, true, 0);
	for (unsigned i = 0; i < SPANS; i++) {
		struct trace_span span = span_of(i);

		trace_put(k, &span);
	}
	trace_track_close(k);
	assert_ok(trace_close(t, NULL));
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "\"dropped\":");

		if (at && sscanf(at, "\"dropped\":%llu", &dropped) == 1)
			all_dropped += dropped;
	}
	(void)fclose(f);
	assert_int_equal(count_lines(path, "\"stage\":\"read\"", line, sizeof(line)) + all_dropped, SPANS);
	temp_dir_close(&dir);
}

static void a_full_disk_is_named_at_the_end(void **state)
{
	struct haul_fault fault = { 0 };
	struct trace_track *k;
	struct trace *t;

	(void)state;
	assert_ok(trace_open("/dev/full", &t, NULL));
	k = trace_track_new(t, begin_job(t), true, 0);
	for (unsigned i = 0; i < 2 * TRACE_CHUNK_SPANS; i++) {
		struct trace_span span = span_of(i);

		trace_put(k, &span);
	}
	trace_track_close(k);
	assert_code(trace_close(t, &fault), HAUL_NO_SPACE);
	assert_non_null(strstr(fault.text, "/dev/full"));
}

static void a_file_that_cannot_be_made_is_named(void **state)
{
	struct haul_fault fault = { 0 };
	struct trace *t = NULL;

	(void)state;
	assert_code(trace_open("/nowhere/at/all", &t, &fault), HAUL_NOT_FOUND);
	assert_non_null(strstr(fault.text, "/nowhere/at/all"));
	assert_null(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_is_null_everywhere),
		cmocka_unit_test(a_span_becomes_a_line),
		cmocka_unit_test(work_of_a_block_adds_up),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(a_full_disk_is_named_at_the_end),
		cmocka_unit_test(a_file_that_cannot_be_made_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
