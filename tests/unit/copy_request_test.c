/* Which requests are refused before anything is opened, and what the others become. */
#include "cli/copy_request.h"

#include "cli/device_option.h"

#include <stdio.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORDS_MAX = 24 };

struct fixture {
	char text[512];
	char *argv[WORDS_MAX];
	struct invocation inv;
	struct copy_request req;
	struct problem problem;
};

static haul_status request(struct fixture *f, const char *text)
{
	int argc = 0;

	memset(f, 0, sizeof(*f));
	memcpy(f->text, text, strlen(text) + 1);
	for (char *word = strtok(f->text, " "); word; word = strtok(NULL, " "))
		f->argv[argc++] = word;
	assert_true(haul_ok(invocation_parse(&f->inv, argc, f->argv, NULL, &f->problem)));
	return copy_request_open(&f->req, &f->inv, &f->problem);
}

static void check_refused(const char *text, const char *what, const char *remedy)
{
	struct fixture f;

	assert_true(haul_failed(request(&f, text)));
	assert_int_equal(f.problem.exit_code, EXIT_CLASS_USAGE);
	assert_string_equal(f.problem.text, what);
	assert_string_equal(f.problem.remedy, remedy);
	invocation_close(&f.inv);
}

static void check_devices(const char *option, enum device_kind source, enum device_kind destination)
{
	char text[160];
	struct fixture f;

	(void)snprintf(text, sizeof(text), "haul copy --device=%s a nas:inbox", option);
	assert_true(haul_ok(request(&f, text)));
	assert_int_equal(f.req.transfer.source_device, source);
	assert_int_equal(f.req.transfer.destination_device, destination);
	copy_request_close(&f.req);
	invocation_close(&f.inv);
}

static void devices_are_of_one_end_or_both(void **state)
{
	static const char *const bad[] = { "",         "fast",           "source",
					   "source:",  "left:ssd",       "ssd,",
					   "ssd,nvme", "source:ssd,ssd", "source:ssd,source:ssd",
					   ",ssd" };

	(void)state;
	check_devices("rotational", DEVICE_ROTATIONAL, DEVICE_ROTATIONAL);
	check_devices("source:nvme", DEVICE_NVME, DEVICE_UNKNOWN);
	check_devices("destination:network,source:ssd", DEVICE_SSD, DEVICE_NETWORK);
	check_devices("source:memory,destination:auto", DEVICE_MEMORY, DEVICE_UNKNOWN);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum device_kind a = DEVICE_NVME, b = DEVICE_SSD;

		assert_int_equal(device_option_parse(bad[i], &a, &b).code, HAUL_USAGE.code);
		assert_int_equal(a, DEVICE_NVME);
		assert_int_equal(b, DEVICE_SSD);
	}
	check_refused("haul copy --device=fast a nas:inbox", "--device=fast: " DEVICE_OPTION_WANTED, "");
}

static void lanes_and_blocks_have_a_range(void **state)
{
	(void)state;
	check_refused("haul copy --lanes 0 a nas:inbox", "--lanes=0: from 1 to 16", "");
	check_refused("haul copy --lanes 1000 a nas:inbox", "--lanes=1000: from 1 to 16", "");
	check_refused("haul copy --block 3 a nas:inbox", "--block=3: a block is 1M, 2M, 4M, 8M or 16M", "");
	check_refused("haul copy --block 32M a nas:inbox", "--block=32M: a block is 1M, 2M, 4M, 8M or 16M", "");
	check_refused("haul copy --lanes 16 --block 16M a nas:inbox", "--block=16M: with --lanes=16 it may be 1M to 2M",
		      "");
}

static void fills_the_request(void **state)
{
	struct fixture f;
	const struct transfer_request *t = &f.req.transfer;

	(void)state;
	assert_true(haul_ok(request(&f, "haul copy -cL --lanes 3 --block 4M --direct=never --bwlimit 8 --no-sync "
					"--connect-timeout 2 --modify-window 1.5 a ./b nas:inbox/x")));
	assert_int_equal(t->verb, TRANSFER_COPY);
	assert_true(t->checksum && t->follow_links && t->no_sync && !t->dry_run && !t->want_entries);
	assert_int_equal(t->source_count, 2);
	assert_string_equal(t->sources[1].text, "./b");
	assert_string_equal(t->destination->share, "inbox");
	assert_int_equal(t->lanes, 3);
	assert_int_equal(t->block_bytes, 4 << 20);
	assert_int_equal(t->direct, TRANSFER_DIRECT_NEVER);
	assert_int_equal(t->bandwidth_bytes_per_s, 8192);
	assert_int_equal(t->connect_timeout_ms, 2000);
	assert_int_equal(t->timeout_ms, 300000);
	assert_true(t->modify_window_s > 1.49 && t->modify_window_s < 1.51);
	copy_request_close(&f.req);
	invocation_close(&f.inv);
}

static void verify_wants_every_difference(void **state)
{
	struct fixture f;

	(void)state;
	assert_true(haul_ok(request(&f, "haul verify --exact nas:inbox/a a")));
	assert_int_equal(f.req.transfer.verb, TRANSFER_VERIFY);
	assert_true(f.req.transfer.exact && f.req.transfer.want_entries);
	assert_int_equal(f.req.transfer.connect_timeout_ms, 10000);
	copy_request_close(&f.req);
	invocation_close(&f.inv);
}

static void one_side_is_this_machine(void **state)
{
	(void)state;
	check_refused("haul copy nas:a edit1:b", "nas:a and edit1:b are both remote: one side is this machine",
		      "Run haul on one of the two machines");
	check_refused("haul copy nas:a edit1:b .", "all SRC are local or on one peer: nas:a and edit1:b are not",
		      "Copy them one by one");
	check_refused("haul copy nas:a b .", "all SRC are local or on one peer: nas:a and b are not",
		      "Copy them one by one");
	check_refused("haul copy a nas:", "nas: names no share: write nas:SHARE",
		      "haul list shows the shares of a peer");
}

static void values_are_bounded(void **state)
{
	(void)state;
	check_refused("haul copy --lanes 17 a nas:b", "--lanes=17: from 1 to 16", "");
	check_refused("haul copy --block 17M a nas:b", "--block=17M: a block is 1M, 2M, 4M, 8M or 16M", "");
	check_refused("haul copy --block 3M a nas:b", "--block=3M: a block is 1M, 2M, 4M, 8M or 16M", "");
	check_refused("haul copy --block 1500K a nas:b", "--block=1500K: a block is 1M, 2M, 4M, 8M or 16M", "");
	check_refused("haul copy --bwlimit fast a nas:b", "--bwlimit=fast: a rate is 10M, 2.5M, 12MB or 5000 (KiB)",
		      "");
	check_refused("haul copy --modify-window 86401 a nas:b",
		      "--modify-window=86401: a number of seconds, at most 86400", "");
	check_refused("haul copy --timeout 0 a nas:b", "--timeout=0: a time is 10 (seconds), 500ms, 5m or 1h", "");
	check_refused("haul copy --as x/y a nas:b", "--as=x/y: it takes one name, without a slash", "");
	check_refused("haul copy --as x a b nas:b", "--as names a single SRC, here are 2", "Copy them one by one");
	check_refused("haul copy --as x a/ nas:b", "--as names what lands, but a/ lands as its contents",
		      "Write SRC without the slash at its end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_the_request),
		cmocka_unit_test(devices_are_of_one_end_or_both),
		cmocka_unit_test(lanes_and_blocks_have_a_range),
		cmocka_unit_test(verify_wants_every_difference),
		cmocka_unit_test(one_side_is_this_machine),
		cmocka_unit_test(values_are_bounded),
	};

	return cmocka_run_group_tests_name("copy_request", tests, NULL, NULL);
}
