/* How long a random read of a disk takes: bounds, and a probe of a file at hand. */
#include "tests/unit/cmocka_first.h"

#include "engine/device_probe.h"
#include "tests/unit/skip_because.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct disk {
	uint64_t now_ns, step_ns, reads, fails_after, furthest;
};

static bool disk_read(void *ctx, uint64_t offset)
{
	struct disk *d = ctx;

	assert_int_equal(offset % DEVICE_PROBE_READ_BYTES, 0);
	if (offset > d->furthest)
		d->furthest = offset;
	d->now_ns += d->reads % 4 == 3 ? 50000000 : d->step_ns; /* outliers move no median */
	return ++d->reads <= d->fails_after;
}

static uint64_t disk_now(void *ctx)
{
	return ((struct disk *)ctx)->now_ns;
}

static uint32_t median_of(struct disk *d, uint64_t bytes)
{
	const struct device_probe p = { .read = disk_read, .now_ns = disk_now, .ctx = d, .bytes = bytes, .seed = 7 };

	d->now_ns = d->reads = d->furthest = 0;
	return device_probe_median(&p);
}

static void a_probe_is_a_median_within_bounds(void **state)
{
	struct disk d = { .step_ns = 120000, .fails_after = 1000 };

	(void)state;
	assert_int_equal(median_of(&d, 1 << 30), 120);
	assert_int_equal(d.reads, DEVICE_PROBE_READS);
	assert_true(d.furthest > 1 << 29 && d.furthest < 1 << 30);
	d.step_ns = 10;
	assert_int_equal(median_of(&d, 1 << 30), 1);
	d.step_ns = 8000000;
	assert_int_equal(median_of(&d, 1 << 30), 8000);
	d.step_ns = 60000000; /* time runs out: so many have to do */
	assert_int_equal(median_of(&d, 1 << 30), 60000);
	assert_true(d.now_ns <= (DEVICE_PROBE_MAX_MS + 60) * UINT64_C(1000000));
	d.step_ns = 400000000; /* a disk that is asleep: too few to tell */
	assert_int_equal(median_of(&d, 1 << 30), 0);
	d.fails_after = 10;
	d.step_ns = 1000;
	assert_int_equal(median_of(&d, 1 << 30), 0);
	assert_int_equal(median_of(&d, 0), 0);
}

static void a_file_is_probed_without_harm(void **state)
{
	char name[] = "probe.XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC), found;
	uint32_t median;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(device_probe_fd(fd), 0); /* too short */
	assert_int_equal(device_probe_find(fd), -1);
	assert_int_equal(ftruncate(fd, 80 << 20), 0);
	assert_int_equal(device_probe_fd(fd), 0); /* a hole seeks nowhere */
	if (posix_fallocate(fd, 0, 80 << 20)) {
		close(fd);
		unlink(name);
		skip_because("no room for 80 MiB");
	}
	found = device_probe_find(fd);
	assert_true(found >= 0);
	median = device_probe_fd(found);
	print_message("a random read here takes %u us\n", median);
	assert_int_equal(fcntl(found, F_GETFL) & O_DIRECT, 0);
	close(found);
	close(fd);
	assert_int_equal(unlink(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_probe_is_a_median_within_bounds),
		cmocka_unit_test(a_file_is_probed_without_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
