/* What both ends of a job do when one of its entries has ended. */
#include "agent/job.h"

static void count(struct job_totals *t, const struct entry_record *r, bool was_sent)
{
	t->proven += r->outcome == OUTCOME_PROVEN;
	t->unchanged += r->outcome == OUTCOME_UNCHANGED;
	t->failed += r->outcome == OUTCOME_FAILED;
	if (r->kind != ENTRY_FILE)
		return;
	t->files_proven += r->outcome == OUTCOME_PROVEN;
	t->files_unchanged += r->outcome == OUTCOME_UNCHANGED;
	t->files_failed += r->outcome == OUTCOME_FAILED;
	t->files_sent += r->outcome == OUTCOME_PROVEN && was_sent;
	t->bytes_done += r->size;
	t->bytes_skipped += was_sent ? 0 : r->size;
}

static const uint64_t ms = 1000000;

struct job_times job_times_say(const struct lane_times *t, uint64_t process_cpu_ms)
{
	return (struct job_times){ .wall_ms = t->wall / ms,
				   .compute_ms = t->compute / ms,
				   .digest_ms = t->digest / ms,
				   .cpu_ms = t->cpu / ms,
				   .ready_ms = t->ready / ms,
				   .wait_work_ms = t->waits[LANE_WAITS_FOR_WORK] / ms,
				   .wait_disk_ms = t->waits[LANE_WAITS_FOR_DISK] / ms,
				   .wait_files_ms = t->waits[LANE_WAITS_FOR_FILES] / ms,
				   .wait_peer_ms = t->waits[LANE_WAITS_FOR_PEER] / ms,
				   .wait_rate_ms = t->waits[LANE_WAITS_FOR_RATE] / ms,
				   .disk_busy_ms = t->disk[DISK_BUSY] / ms,
				   .disk_no_input_ms = t->disk[DISK_NO_INPUT] / ms,
				   .disk_no_room_ms = t->disk[DISK_NO_ROOM] / ms,
				   .files_busy_ms = t->files / ms,
				   .sync_ms = t->sync / ms,
				   .process_cpu_ms = process_cpu_ms };
}

struct lane_times job_times_heard(const struct job_times *m)
{
	return (struct lane_times){ .wall = m->wall_ms * ms,
				    .compute = m->compute_ms * ms,
				    .digest = m->digest_ms * ms,
				    .cpu = m->cpu_ms * ms,
				    .ready = m->ready_ms * ms,
				    .waits = { [LANE_WAITS_FOR_WORK] = m->wait_work_ms * ms,
					       [LANE_WAITS_FOR_DISK] = m->wait_disk_ms * ms,
					       [LANE_WAITS_FOR_FILES] = m->wait_files_ms * ms,
					       [LANE_WAITS_FOR_PEER] = m->wait_peer_ms * ms,
					       [LANE_WAITS_FOR_RATE] = m->wait_rate_ms * ms },
				    .disk = { [DISK_BUSY] = m->disk_busy_ms * ms,
					      [DISK_NO_INPUT] = m->disk_no_input_ms * ms,
					      [DISK_NO_ROOM] = m->disk_no_room_ms * ms },
				    .files = m->files_busy_ms * ms,
				    .sync = m->sync_ms * ms };
}

haul_status job_settle(struct job_totals *t, struct job_digest *digest, uint64_t index, const struct entry_record *r,
		       bool was_sent)
{
	struct haul_digest d;
	haul_status st = entry_digest(r, &d);

	if (haul_ok(st))
		st = job_digest_put(digest, index, &d);
	if (haul_ok(st))
		count(t, r, was_sent);
	return st;
}

void job_follow_policy(struct job_config *cfg, const struct policy *p, bool is_sender)
{
	cfg->lane.blocks_per_lane = p->blocks_per_lane;
	cfg->lane.read = p->read;
	cfg->lane.write = p->write;
	cfg->lane.is_phased = p->is_phased;
	cfg->direct = is_sender ? p->read_direct : p->write_direct;
	cfg->order = p->order;
	cfg->run_bytes = p->run_bytes;
}

unsigned job_trace(const struct job_config *cfg, bool is_source)
{
	const struct trace_job_facts facts = { .is_source = is_source,
					       .lanes = cfg->lanes,
					       .blocks_per_lane = cfg->lane.blocks_per_lane,
					       .block_bytes = cfg->lane.block_bytes,
					       .session_id = cfg->lane.session_id };

	return trace_job(cfg->lane.trace, &facts);
}
