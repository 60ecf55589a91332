/* The account of one lane: each turn is booked on what the turn before it announced. */
#include "agent/lane_meter.h"

#include <stdio.h>
#include <string.h>

void lane_times_add(struct lane_times *sum, const struct lane_times *more)
{
	sum->wall += more->wall;
	sum->compute += more->compute;
	sum->digest += more->digest;
	sum->cpu += more->cpu;
	sum->ready += more->ready;
	for (unsigned i = 0; i < LANE_WAITS; i++)
		sum->waits[i] += more->waits[i];
	for (unsigned i = 0; i < DISK_USES; i++)
		sum->disk[i] += more->disk[i];
	sum->files += more->files;
	sum->sync += more->sync;
}

void lane_meter_start(struct lane_meter *m, uint64_t now_ns, uint64_t idle_ns)
{
	*m = (struct lane_meter){ .last = { .now_ns = now_ns, .idle_ns = idle_ns, .disk = DISK_NO_INPUT } };
}

/* Something arrived: it was the peer that was waited for. */
static void settle(struct lane_meter *m)
{
	for (unsigned i = 0; i < LANE_WAITS; i++) {
		m->since.waits[LANE_WAITS_FOR_PEER] += m->unsure[i];
		m->unsure[i] = 0;
	}
}

void lane_meter_end(struct lane_meter *m)
{
	for (unsigned i = 0; i < LANE_WAITS; i++) {
		m->times.waits[i] += m->unsure[i];
		m->unsure[i] = 0;
	}
}

void lane_meter_turn(struct lane_meter *m, const struct lane_turn *turn)
{
	uint64_t elapsed = turn->now_ns - m->last.now_ns, slept = turn->idle_ns - m->last.idle_ns;

	if (slept > elapsed)
		slept = elapsed; /* two clocks, read one after the other */
	m->since.wall += elapsed;
	m->since.compute += elapsed - slept;
	m->peer_wait_ns += m->last.waits_for == LANE_WAITS_FOR_PEER ? slept : 0;
	if (m->last.if_over == m->last.waits_for)
		m->since.waits[m->last.waits_for] += slept;
	else
		m->unsure[m->last.if_over] += slept;
	if (turn->arrived != m->last.arrived)
		settle(m);
	m->since.disk[m->last.disk] += elapsed;
	m->since.files += m->last.has_files ? elapsed : 0;
	if (turn->moved != m->last.moved) {
		if (m->has_begun)
			lane_times_add(&m->times, &m->since);
		m->has_begun = true;
		m->since = (struct lane_times){ 0 };
	}
	m->last = *turn;
}

static unsigned percent(uint64_t of, uint64_t whole)
{
	double p = whole ? 100.0 * (double)of / (double)whole + 0.5 : 0;

	return p > 100 ? 100 : (unsigned)p;
}

static void append(char *text, size_t cap, const char *fmt, unsigned value)
{
	size_t len = strlen(text);

	(void)snprintf(text + len, cap - len, fmt, value);
}

bool lane_times_text(const struct lane_times *t, char *ret_text, size_t cap)
{
	static const char *const waits[LANE_WAITS] = { ", for work %u %%", ", for the disk %u %%",
						       ", for small files %u %%", ", for the peer %u %%",
						       ", for --bwlimit %u %%" };

	if (!t->wall)
		return false;
	ret_text[0] = '\0';
	append(ret_text, cap, "busy %u %%", percent(t->compute, t->wall));
	append(ret_text, cap, " (digests %u %%)", percent(t->digest, t->wall));
	if (percent(t->ready, t->wall))
		append(ret_text, cap, ", without a core %u %%", percent(t->ready, t->wall));
	append(ret_text, cap, ", asleep %u %%", percent(t->wall - t->compute, t->wall));
	for (unsigned i = 0; i < LANE_WAITS; i++) {
		if (percent(t->waits[i], t->wall))
			append(ret_text, cap, waits[i], percent(t->waits[i], t->wall));
	}
	append(ret_text, cap, "; its disk busy %u %%", percent(t->disk[DISK_BUSY], t->wall));
	return true;
}
