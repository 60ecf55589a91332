/*
 * What a lane keeps of itself beside its work: the account of its time (lane_meter.h), the digests it takes, and what
 * fills the blocks of a probe.
 */
#include "agent/lane_parts.h"

#include "engine/hash_tree.h"

void lane_digest(struct lane *l, struct trace_span *span, const void *data, size_t len, struct haul_digest *ret_digest)
{
	uint64_t start_ns = uv_hrtime();

	leaf_digest(data, len, ret_digest);
	l->meter.times.digest += uv_hrtime() - start_ns;
	trace_work(l->track, span, start_ns);
}

void lane_digest_add(struct lane *l, struct trace_span *span, struct leaf_stream *leaf, const void *data, size_t len)
{
	uint64_t start_ns = uv_hrtime();

	leaf_stream_add(leaf, data, len);
	l->meter.times.digest += uv_hrtime() - start_ns;
	trace_work(l->track, span, start_ns);
}

static bool is_starved(struct lane *l)
{
	list_each (pos, &l->wires) {
		if (list_item(pos, struct wire, link)->is_starved)
			return true;
	}
	return false;
}

/* What the lane sleeps for, if it sleeps now. */
static enum lane_wait next_wait(struct lane *l, unsigned disk_requests)
{
	bool is_sending = l->job->role == LANE_SENDS;

	if (l->is_waiting_for_rate)
		return LANE_WAITS_FOR_RATE;
	if (!l->sink && (is_sending ? l->sending != NULL : !is_starved(l)))
		return LANE_WAITS_FOR_PEER;
	if (is_sending && !l->in_work)
		return LANE_WAITS_FOR_WORK;
	return disk_requests ? LANE_WAITS_FOR_DISK : LANE_WAITS_FOR_FILES;
}

static enum disk_use disk_use(const struct lane *l, unsigned disk_requests)
{
	if (disk_requests)
		return DISK_BUSY;
	return l->job->role == LANE_SENDS && l->share.taken == l->share.count ? DISK_NO_ROOM : DISK_NO_INPUT;
}

/* A receiving lane that still writes may have heard its last: then it is the disk that it waits for. */
static enum lane_wait wait_if_over(const struct lane *l, enum lane_wait waits_for, unsigned disk_requests)
{
	if (l->job->role == LANE_SENDS || waits_for != LANE_WAITS_FOR_PEER || !l->in_work)
		return waits_for;
	return disk_requests ? LANE_WAITS_FOR_DISK : LANE_WAITS_FOR_FILES;
}

void lane_account_start(struct lane *l)
{
	lane_meter_start(&l->meter, uv_hrtime(), uv_metrics_idle_time(&l->loop));
	l->sink_meter = l->meter;
}

void lane_account_turn(struct lane *l)
{
	unsigned requests = l->engine ? engine_in_flight(l->engine) : 0;
	enum lane_wait waits_for = next_wait(l, requests);
	const struct lane_turn turn = { .idle_ns = uv_metrics_idle_time(&l->loop),
					.now_ns = uv_hrtime(),
					.moved = l->moved,
					.arrived = l->arrived,
					.waits_for = waits_for,
					.if_over = wait_if_over(l, waits_for, requests),
					.disk = disk_use(l, requests),
					.has_files = l->in_work > requests };

	if (l->sink)
		copy_meter(l, &turn, requests);
	else
		lane_meter_turn(&l->meter, &turn);
}

void lane_account_end(struct lane *l)
{
	struct thread_cpu cpu;

	thread_cpu_now(&cpu);
	lane_meter_end(&l->meter);
	lane_meter_end(&l->sink_meter);
	l->meter.times.cpu = cpu.cpu_ns - l->cpu_at_start.cpu_ns;
	l->meter.times.ready = cpu.ready_ns - l->cpu_at_start.ready_ns;
	l->ended->times = l->meter.times;
}

/* A lane that copies is a lane of either end. */
void lane_trace_begin(struct lane *l)
{
	int number = (int)l->number;

	l->track = trace_track_new(l->job->trace, l->job->trace_job, l->job->role == LANE_SENDS, number);
	l->recv_track = l->sink ? trace_track_new(l->sink->trace, l->sink->trace_job, false, number) : l->track;
}

void lane_trace_end(struct lane *l)
{
	if (l->recv_track != l->track)
		trace_track_close(l->recv_track);
	trace_track_close(l->track);
	l->track = l->recv_track = NULL;
}
