/* Results of steps put together: short ones, refusals, repeats, the end of the file. No I/O but fcntl on a file. */
#include "engine/engine_request.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/skip_because.h"

enum { KIB = 1024 };

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

static _Alignas(4096) uint8_t memory[64 * KIB];

static struct disk_file file_of(bool is_direct)
{
	struct disk_file f = { .offset_align = is_direct ? 4096 : 1, .memory_align = is_direct ? 512 : 1 };

	f.fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (f.fd < 0)
		skip_because("the build lies on a file system without O_TMPFILE");
	atomic_store(&f.is_direct, is_direct);
	return f;
}

static struct engine_request request_of(struct disk_file *f, bool is_write, size_t len)
{
	struct engine_request r = { .file = f, .buf = memory, .offset = 8192, .len = len, .is_write = is_write };

	assert_code(engine_request_open(&r), HAUL_OK);
	return r;
}

static void assert_step(const struct engine_request *r, size_t at, size_t len)
{
	struct request_step step = request_step(r);

	assert_ptr_equal(step.buf, memory + at);
	assert_int_equal(step.len, len);
	assert_int_equal(step.offset, 8192 + at);
}

static void assert_done(const struct engine_request *r, haul_status st, int err, size_t bytes)
{
	assert_code(r->done.status, st);
	assert_int_equal(r->done.os_errno, err);
	assert_int_equal(r->done.bytes, bytes);
}

static void buffered_short_reads_go_on(void **state)
{
	struct disk_file f = file_of(false);
	struct engine_request r = request_of(&f, false, 10000);

	(void)state;
	assert_step(&r, 0, 10000);
	assert_false(request_take_result(&r, 1));
	assert_step(&r, 1, 9999);
	assert_false(request_take_result(&r, -EINTR));
	assert_false(request_take_result(&r, -EAGAIN));
	assert_step(&r, 1, 9999);
	assert_true(request_take_result(&r, 9999));
	assert_done(&r, HAUL_OK, 0, 10000);
	close(f.fd);
}

static void direct_short_read_goes_on_at_the_aligned_position(void **state)
{
	struct disk_file f = file_of(true);
	struct engine_request r = request_of(&f, false, 20000);

	(void)state;
	assert_step(&r, 0, 20480);
	assert_false(request_take_result(&r, 5000)); /* perhaps the end: look again from 4096 */
	assert_step(&r, 4096, 16384);
	assert_false(request_take_result(&r, 8192)); /* it was not */
	assert_step(&r, 12288, 8192);
	assert_true(request_take_result(&r, 8192));
	assert_done(&r, HAUL_OK, 0, 20000);
	close(f.fd);
}

static void direct_read_finds_the_end(void **state)
{
	struct disk_file f = file_of(true);
	struct engine_request r = request_of(&f, false, 20000);

	(void)state;
	assert_false(request_take_result(&r, 5000));
	assert_true(request_take_result(&r, 904)); /* 4096 + 904: nothing new */
	assert_done(&r, HAUL_OK, 0, 5000);
	r = request_of(&f, false, 20000);
	assert_false(request_take_result(&r, 8192));
	assert_true(request_take_result(&r, 0));
	assert_done(&r, HAUL_OK, 0, 8192);
	r = request_of(&f, false, 20000);
	assert_true(request_take_result(&r, 0));
	assert_done(&r, HAUL_OK, 0, 0);
	close(f.fd);
}

static void read_past_the_tail_reports_what_was_asked(void **state)
{
	struct disk_file f = file_of(true);
	struct engine_request r = request_of(&f, false, 5000);

	(void)state;
	assert_step(&r, 0, 8192);
	assert_true(request_take_result(&r, 8192)); /* the file goes on behind the 5000 */
	assert_done(&r, HAUL_OK, 0, 5000);
	close(f.fd);
}

static void direct_write_pads_with_zeros(void **state)
{
	struct disk_file f = file_of(true);
	struct engine_request r;

	(void)state;
	memset(memory, 0xff, sizeof(memory));
	r = request_of(&f, true, 5000);
	assert_int_equal(memory[4999], 0xff);
	for (size_t i = 5000; i < 8192; i++)
		assert_int_equal(memory[i], 0);
	assert_int_equal(memory[8192], 0xff);
	assert_step(&r, 0, 8192);
	assert_true(request_take_result(&r, 8192));
	assert_done(&r, HAUL_OK, 0, 5000);
	close(f.fd);
}

static void write_that_stops_is_told(void **state)
{
	struct disk_file f = file_of(false);
	struct engine_request r = request_of(&f, true, 5000);

	(void)state;
	assert_false(request_take_result(&r, 4096));
	assert_true(request_take_result(&r, 0));
	assert_done(&r, HAUL_NO_SPACE, ENOSPC, 4096);
	r = request_of(&f, true, 5000);
	assert_true(request_take_result(&r, -ENOSPC));
	assert_done(&r, HAUL_NO_SPACE, ENOSPC, 0);
	r = request_of(&f, true, 5000);
	assert_true(request_take_result(&r, -EINVAL)); /* no second try for a buffered file */
	assert_done(&r, HAUL_IO, EINVAL, 0);
	close(f.fd);
}

/* Less than one aligned unit written: nothing that direct I/O could go on with. */
static void crumb_of_a_direct_write_is_finished_buffered(void **state)
{
	struct disk_file f = file_of(true);
	struct engine_request r = request_of(&f, true, 5000);

	(void)state;
	assert_false(request_take_result(&r, 512));
	assert_false(atomic_load(&f.is_direct));
	assert_step(&r, 512, 4488);
	assert_true(request_take_result(&r, -ENOSPC));
	assert_done(&r, HAUL_NO_SPACE, ENOSPC, 512);
	close(f.fd);
}

static void refused_direct_request_is_repeated_buffered(void **state)
{
	struct disk_file f = file_of(true);
	struct engine_request first = request_of(&f, false, 5000), second = request_of(&f, true, 5000);

	(void)state;
	assert_false(request_take_result(&first, -EINVAL));
	assert_false(atomic_load(&f.is_direct));
	assert_int_equal(atomic_load(&f.reason), BUFFERED_IO_REFUSED);
	assert_step(&first, 0, 5000);
	assert_true(request_take_result(&first, 5000));
	/* The other one was made while the file was direct: it has its own second try. */
	assert_false(request_take_result(&second, -EINVAL));
	assert_step(&second, 0, 5000);
	assert_true(request_take_result(&second, -EINVAL));
	assert_done(&second, HAUL_IO, EINVAL, 0);
	close(f.fd);
}

static void repeats_are_bounded(void **state)
{
	struct disk_file f = file_of(false);
	struct engine_request r = request_of(&f, false, 5000);
	unsigned tries = 1;

	(void)state;
	while (!request_take_result(&r, -EAGAIN))
		assert_true(++tries < 10000);
	assert_done(&r, HAUL_IO, EAGAIN, 0);
	close(f.fd);
}

static void offsets_beyond_the_signed_range_are_refused(void **state)
{
	struct disk_file f = file_of(true);
	struct engine_request r = { .file = &f, .buf = memory, .len = 5000, .offset = UINT64_MAX - 4095 };

	(void)state;
	assert_code(engine_request_open(&r), HAUL_OVERFLOW);
	r.offset = (uint64_t)INT64_MAX - 4095;
	assert_code(engine_request_open(&r), HAUL_OVERFLOW);
	r.offset = 0;
	r.len = SIZE_MAX;
	assert_code(engine_request_open(&r), HAUL_OVERFLOW);
	close(f.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffered_short_reads_go_on),
		cmocka_unit_test(direct_short_read_goes_on_at_the_aligned_position),
		cmocka_unit_test(direct_read_finds_the_end),
		cmocka_unit_test(read_past_the_tail_reports_what_was_asked),
		cmocka_unit_test(direct_write_pads_with_zeros),
		cmocka_unit_test(write_that_stops_is_told),
		cmocka_unit_test(crumb_of_a_direct_write_is_finished_buffered),
		cmocka_unit_test(refused_direct_request_is_repeated_buffered),
		cmocka_unit_test(repeats_are_bounded),
		cmocka_unit_test(offsets_beyond_the_signed_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
