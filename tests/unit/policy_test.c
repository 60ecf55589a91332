/* Which devices lead to which lanes, blocks, depth and order: every pair of kinds, and what the user says against it.
 */
#include "agent/policy.h"

#include "engine/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MIB = 1024 * 1024 };

static const uint64_t budget = UINT64_C(256) * MIB;

static struct policy_input input_of(enum device_kind source, enum device_kind destination)
{
	return (struct policy_input){ .source = { source, 8 },
				      .destination = { destination, 6 },
				      .direct = DIRECT_AUTO,
				      .budget_bytes = budget };
}

static struct policy policy_of(enum device_kind source, enum device_kind destination)
{
	struct policy_input in = input_of(source, destination);
	struct policy p;

	policy_choose(&in, &p);
	return p;
}

static void flash_is_driven_deep_by_several_lanes(void **state)
{
	struct policy p = policy_of(DEVICE_NVME, DEVICE_SSD);

	(void)state;
	assert_int_equal(p.lanes, 4);
	assert_true(p.lanes_may_grow);
	assert_int_equal(p.block_bytes, 4 * MIB);
	assert_int_equal(p.blocks_per_lane, 8);
	assert_int_equal(p.read.first, 8);
	assert_int_equal(p.write.first, 8);
	assert_int_equal(p.order, ORDER_ANNOUNCED);
	assert_int_equal(p.run_bytes, 0);
	assert_false(p.is_phased);
}

static void one_spindle_at_either_end_means_one_lane_and_long_runs(void **state)
{
	(void)state;
	for (int kind = DEVICE_UNKNOWN; kind <= DEVICE_KIND_LAST; kind++) {
		struct policy from = policy_of(DEVICE_ROTATIONAL, (enum device_kind)kind);
		struct policy to = policy_of((enum device_kind)kind, DEVICE_ROTATIONAL);

		assert_int_equal(from.lanes, 1);
		assert_int_equal(to.lanes, 1);
		assert_false(from.lanes_may_grow || to.lanes_may_grow);
		assert_int_equal(from.block_bytes, 8 * MIB);
		assert_int_equal(to.block_bytes, 8 * MIB);
		assert_int_equal(from.blocks_per_lane, 16); /* the blocks of the whole session */
		assert_int_equal(from.order, ORDER_PHYSICAL);
		assert_int_equal(from.read.first, 2);
		assert_int_equal(from.read.most, 4);
		assert_int_equal(to.write.most, 4);
		assert_true(from.run_bytes >= 64 * MIB && to.run_bytes >= 64 * MIB);
		assert_int_equal(to.order, kind == DEVICE_ROTATIONAL ? ORDER_PHYSICAL : ORDER_ANNOUNCED);
		assert_false(from.is_phased); /* two disks */
	}
}

static void both_ends_on_one_spindle_take_turns(void **state)
{
	struct policy_input in = input_of(DEVICE_ROTATIONAL, DEVICE_ROTATIONAL);
	struct policy p;

	(void)state;
	in.is_same_device = true;
	policy_choose(&in, &p);
	assert_true(p.is_phased);
	assert_int_equal(p.read.first, p.blocks_per_lane);
	in.source.kind = in.destination.kind = DEVICE_NVME;
	policy_choose(&in, &p);
	assert_false(p.is_phased);
}

static void unknown_begins_with_half_and_adapts(void **state)
{
	struct policy p = policy_of(DEVICE_UNKNOWN, DEVICE_UNKNOWN);

	(void)state;
	assert_int_equal(p.lanes, 4);
	assert_int_equal(p.read.first, 4);
	assert_int_equal(p.read.most, 8);
	assert_int_equal(p.write.first, 4);
	assert_int_equal(p.write.most, 8);
}

static void network_and_memory_have_their_own(void **state)
{
	struct policy nas = policy_of(DEVICE_NETWORK, DEVICE_NVME), memory = policy_of(DEVICE_MEMORY, DEVICE_SSD);

	(void)state;
	assert_int_equal(nas.block_bytes, 8 * MIB);
	assert_int_equal(nas.read_direct, DIRECT_AUTO);
	assert_true(nas.read.first < nas.read.most);
	assert_int_equal(memory.read_direct, DIRECT_NEVER);
	assert_int_equal(memory.write_direct, DIRECT_AUTO);
}

static void what_the_user_asks_for_counts(void **state)
{
	struct policy_input in = input_of(DEVICE_ROTATIONAL, DEVICE_MEMORY);
	struct policy p;

	(void)state;
	in.lanes = 3;
	in.block_bytes = 2 * MIB;
	in.direct = DIRECT_ALWAYS;
	policy_choose(&in, &p);
	assert_int_equal(p.lanes, 3);
	assert_false(p.lanes_may_grow);
	assert_int_equal(p.block_bytes, 2 * MIB);
	assert_int_equal(p.write_direct, DIRECT_ALWAYS);
	assert_int_equal(p.order, ORDER_PHYSICAL);
	in.direct = DIRECT_NEVER;
	policy_choose(&in, &p);
	assert_int_equal(p.read_direct, DIRECT_NEVER);
}

static void long_blocks_that_are_asked_for_take_lanes(void **state)
{
	struct policy_input in = input_of(DEVICE_NVME, DEVICE_NVME);
	struct policy p;

	(void)state;
	in.block_bytes = 16 * MIB;
	policy_choose(&in, &p);
	assert_int_equal(p.block_bytes, 16 * MIB);
	assert_int_equal(p.lanes, 3);
	in.block_bytes = 0;
	policy_choose(&in, &p);
	assert_int_equal(p.block_most, 8 * MIB); /* what a client wishes for: the server's disk may like it */
}

static void few_cores_mean_few_lanes(void **state)
{
	struct policy_input in = input_of(DEVICE_NVME, DEVICE_NVME);
	struct policy p;

	(void)state;
	in.source.cores = 2;
	policy_choose(&in, &p);
	assert_int_equal(p.lanes, 2);
	in.source.cores = 0; /* not known: the other's count */
	policy_choose(&in, &p);
	assert_int_equal(p.lanes, 4);
	in.destination.cores = 0;
	policy_choose(&in, &p);
	assert_int_equal(p.lanes, 1);
}

static void everything_fits_into_every_budget(void **state)
{
	(void)state;
	for (uint64_t bytes = 8 * MIB; bytes <= budget; bytes += 4 * MIB) {
		for (unsigned n = 0; n < 17 * 6 * 36; n++) {
			struct policy_input in =
			    input_of((enum device_kind)(n / 102 / 6 % 6), (enum device_kind)(n / 102 % 6));
			struct policy p;

			in.lanes = n % 17;
			in.block_bytes = n / 17 % 6 ? (uint32_t)MIB << (n / 17 % 6 - 1) : 0;
			in.budget_bytes = bytes;
			policy_choose(&in, &p);
			assert_true(p.lanes >= 1 && p.lanes <= 16);
			assert_true(p.blocks_per_lane >= POLICY_BLOCKS_LEAST);
			assert_true(p.block_bytes >= MIB && !(p.block_bytes & (p.block_bytes - 1)));
			assert_true(block_cost(p.block_bytes) * p.blocks_per_lane * p.lanes <= bytes);
			assert_true(p.read.first >= 1 && p.read.first <= p.read.most);
			assert_true(p.read.most <= p.blocks_per_lane && p.write.most <= p.blocks_per_lane);
		}
	}
}

static void it_is_said_in_words(void **state)
{
	struct policy p = policy_of(DEVICE_ROTATIONAL, DEVICE_MEMORY);
	char text[POLICY_TEXT_MAX];

	(void)state;
	assert_string_equal(policy_text(&p, text, sizeof(text)),
			    "1 lane (one spindle), blocks of 8 MiB (few seeks), 16 of each lane");
	assert_string_equal(policy_read_text(&p, text, sizeof(text)),
			    "2 to 4 reads of a lane in flight, as it answers, files as they lie on the disk, whole; "
			    "big files direct where possible");
	assert_string_equal(policy_write_text(&p, text, sizeof(text)),
			    "16 writes of a lane in flight; through the page cache");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flash_is_driven_deep_by_several_lanes),
		cmocka_unit_test(one_spindle_at_either_end_means_one_lane_and_long_runs),
		cmocka_unit_test(both_ends_on_one_spindle_take_turns),
		cmocka_unit_test(unknown_begins_with_half_and_adapts),
		cmocka_unit_test(network_and_memory_have_their_own),
		cmocka_unit_test(what_the_user_asks_for_counts),
		cmocka_unit_test(long_blocks_that_are_asked_for_take_lanes),
		cmocka_unit_test(few_cores_mean_few_lanes),
		cmocka_unit_test(everything_fits_into_every_budget),
		cmocka_unit_test(it_is_said_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
