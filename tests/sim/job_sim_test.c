/*
 * Whole jobs over simulated connections, in either direction, in pieces of random size; and short ones cut at every
 * byte of every stream: each side comes to an end, and none believes in a success that the other one cannot know of.
 * HAUL_SIM_SEED chooses another run; the seed is printed.
 */
#include "sim_agent.h"

#include "../unit/cmocka_first.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 200000, CLIENT = 0, SERVER = 1 };

struct world {
	struct sim_connection control, lane;
	struct sim_agent agents[2];
	struct sim_tree source, copy;
	uint64_t now_ns, random;
};

static uint64_t seed_of_run(void)
{
	const char *text = getenv("HAUL_SIM_SEED");

	return text ? strtoull(text, NULL, 10) : 20261130;
}

struct plan {
	uint64_t seed;
	enum job_direction direction;
	uint32_t files, bytes_max;
	size_t piece_max;
	uint64_t bytes_per_s, delay_ns;
};

static void open_world(struct world *w, const struct plan *plan)
{
	*w = (struct world){ .random = plan->seed * 2 + 1 };
	sim_connection_open(&w->control, plan->bytes_per_s, plan->delay_ns, plan->piece_max);
	sim_connection_open(&w->lane, plan->bytes_per_s, plan->delay_ns, plan->piece_max);
	sim_tree_fill(&w->source, plan->files, plan->bytes_max, &w->random);
	for (int role = 0; role < 2; role++) {
		struct sim_agent *a = &w->agents[role];
		bool is_sender = (role == CLIENT) == (plan->direction == JOB_PUSH);

		sim_agent_open(a, (enum control_role)role, plan->direction, is_sender ? &w->source : &w->copy);
		a->control_link = &w->control;
		a->lane_link = &w->lane;
		a->now_ns = &w->now_ns;
		a->random = &w->random;
	}
}

static void close_world(struct world *w)
{
	sim_agent_close(&w->agents[CLIENT]);
	sim_agent_close(&w->agents[SERVER]);
	sim_connection_close(&w->control);
	sim_connection_close(&w->lane);
	sim_tree_close(&w->source);
	sim_tree_close(&w->copy);
}

/* The next arrival anywhere. False when nothing is under way. */
static bool step(struct world *w)
{
	struct sim_connection *connections[] = { &w->control, &w->lane };
	uint64_t next_ns = SIM_NEVER;
	int which = 0, reader = 0;
	const uint8_t *data;
	size_t len;

	for (int i = 0; i < 4; i++) {
		uint64_t at_ns = sim_next_ns(connections[i / 2], i % 2);

		if (at_ns >= next_ns)
			continue;
		next_ns = at_ns;
		which = i / 2;
		reader = i % 2;
	}
	if (next_ns == SIM_NEVER)
		return false;
	w->now_ns = next_ns > w->now_ns ? next_ns : w->now_ns;
	data = sim_take(connections[which], reader, &len);
	sim_agent_arrived(&w->agents[reader], which == 1, data, len, connections[which]->to[reader].is_clean_end);
	return true;
}

/* Until both sides are over. A world in which nothing is under way any more before that is a hang. */
static void run(struct world *w)
{
	unsigned events = 0;

	sim_agent_start(&w->agents[CLIENT]);
	sim_agent_start(&w->agents[SERVER]);
	while (!sim_agent_is_over(&w->agents[CLIENT]) || !sim_agent_is_over(&w->agents[SERVER])) {
		char client[100], server[100];

		if (step(w) && ++events < EVENTS_MAX)
			continue;
		fail_msg("hangs: client %s, server %s",
			 control_describe(w->agents[CLIENT].control.session, client, sizeof(client)),
			 control_describe(w->agents[SERVER].control.session, server, sizeof(server)));
	}
}

static void check_copy(const struct world *w)
{
	assert_int_equal(w->copy.file_count, w->source.file_count);
	for (uint32_t i = 0; i < w->source.file_count; i++) {
		assert_string_equal(w->copy.files[i].name, w->source.files[i].name);
		assert_int_equal(w->copy.files[i].bytes, w->source.files[i].bytes);
		assert_memory_equal(w->copy.files[i].data, w->source.files[i].data, w->source.files[i].bytes);
	}
}

static void a_job_comes_to_its_end(void **state)
{
	static const size_t pieces[] = { 1, 7, 100, 20000 };
	uint64_t seed = seed_of_run();

	(void)state;
	print_message("seed %" PRIu64 "\n", seed);
	for (unsigned i = 0; i < 64; i++) {
		struct plan plan = { .seed = seed + i,
				     .direction = i & 1 ? JOB_PUSH : JOB_PULL,
				     .files = 1 + i % 30,
				     .bytes_max = i % 4 < 2 ? 200 : 3000,
				     .piece_max = pieces[i / 2 % 4],
				     .bytes_per_s = 1000000,
				     .delay_ns = 1000000 * (i % 5) };
		struct world w;

		open_world(&w, &plan);
		run(&w);
		assert_ok(w.agents[CLIENT].control.ended);
		assert_ok(w.agents[SERVER].control.ended);
		check_copy(&w);
		close_world(&w);
	}
}

static struct plan short_plan(enum job_direction direction)
{
	return (struct plan){ .seed = seed_of_run(),
			      .direction = direction,
			      .files = 3,
			      .bytes_max = 100,
			      .piece_max = 40,
			      .bytes_per_s = 1000000,
			      .delay_ns = 100000 };
}

static struct sim_link *link_number(struct world *w, unsigned link)
{
	return link < 2 ? &w->control.to[link] : &w->lane.to[link - 2];
}

/* One run cut after `cut` bytes of one stream. Returns whether the cut came before the stream's end. */
static bool run_with_cut(enum job_direction direction, unsigned link, size_t cut)
{
	struct plan plan = short_plan(direction);
	haul_status client, server;
	struct world w;
	bool was_cut;

	open_world(&w, &plan);
	link_number(&w, link)->cut_at = cut;
	run(&w);
	client = w.agents[CLIENT].control.ended;
	server = w.agents[SERVER].control.ended;
	was_cut = link_number(&w, link)->len == cut && !link_number(&w, link)->is_clean_end;
	assert_true(haul_ok(client) || client.code == HAUL_CODE_LOST);
	assert_true(haul_ok(server) || server.code == HAUL_CODE_LOST);
	if (haul_ok(client) || haul_ok(server))
		check_copy(&w);
	if (!was_cut)
		assert_true(haul_ok(client) && haul_ok(server));
	close_world(&w);
	return was_cut;
}

static void a_cut_at_any_byte_is_a_loss_or_comes_too_late(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		enum job_direction direction = i & 1 ? JOB_PUSH : JOB_PULL;
		size_t cut = 1;

		while (run_with_cut(direction, i / 2, cut))
			cut++;
		assert_true(cut > 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_comes_to_its_end),
		cmocka_unit_test(a_cut_at_any_byte_is_a_loss_or_comes_too_late),
	};

	return cmocka_run_group_tests_name("job_sim", tests, NULL, NULL);
}
