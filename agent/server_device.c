/*
 * What our end of a job lies on, what follows from both ends, and the memory for it. Runs when the job has been opened,
 * because only then is it known where it leads. A wrong claim of the client costs speed and nothing else.
 */
#include "agent/server_parts.h"

#include "engine/pool.h"

#include <stdio.h>
#include <string.h>

static bool is_sender(const struct session_job *j)
{
	return j->m.direction == JOB_PULL;
}

static struct policy_input input(const struct server *server, const struct session_job *j)
{
	uint8_t id[DISK_ID_BYTES];
	const struct policy_end own = { j->device.kind, server->cores }, other = { j->m.device, j->peer_cores };

	device_facts_id(&j->device, id);
	return (struct policy_input){ .source = is_sender(j) ? own : other,
				      .destination = is_sender(j) ? other : own,
				      .is_same_device = device_ids_equal(id, j->m.disk_id),
				      .lanes = j->m.fixed & JOB_FIXED_LANES ? j->m.lanes : 0,
				      .block_bytes = j->m.fixed & JOB_FIXED_BLOCK ? j->m.block_bytes : 0,
				      .direct = DIRECT_AUTO,
				      .budget_bytes = server->budget_bytes };
}

/* Not more than was wished for. A job that never fits into the whole budget would block the queue for ever. */
void session_choose(const struct server *server, struct session_job *j)
{
	struct policy_input in = input(server, j);
	struct policy chosen;

	policy_choose(&in, &chosen);
	in.lanes = chosen.lanes < j->m.lanes ? chosen.lanes : j->m.lanes;
	in.block_bytes = chosen.block_bytes < j->m.block_bytes ? chosen.block_bytes : j->m.block_bytes;
	in.more_lanes = chosen.lanes_may_grow ? j->m.more_lanes : 0;
	policy_choose(&in, &j->policy);
}

/* Memory for every lane's blocks, all or nothing: fewer blocks rather than none. */
bool session_admit(struct server_session *s)
{
	struct session_job *j = s->job;
	struct server *server = s->server;

	for (unsigned blocks = j->policy.blocks_per_lane; blocks >= POLICY_BLOCKS_LEAST; blocks--) {
		uint64_t need = block_cost(j->policy.block_bytes) * blocks * j->policy.lanes;

		if (need > server->budget_bytes - server->reserved_bytes)
			continue;
		j->policy.blocks_per_lane = blocks;
		j->reserved_bytes = need;
		j->lanes_paid = (UINT32_C(1) << j->policy.lanes) - 1;
		server->reserved_bytes += need;
		return true;
	}
	return false;
}

void session_fill_accept(const struct session_job *j, struct msg_accept *accept)
{
	accept->lanes = j->policy.lanes;
	accept->more_lanes = j->policy.more_lanes;
	accept->block_bytes = j->policy.block_bytes;
	accept->device = j->device.kind;
	device_facts_id(&j->device, accept->disk_id);
	memcpy(accept->session_id, j->session_id, sizeof(j->session_id));
}

/* What does not get through is not missed: notes are for people. */
void session_note(struct server_session *s, const char *text)
{
	struct message m = { .type = MSG_NOTE };
	size_t len = strlen(text);

	if (!s->job_runs || !(s->job->m.flags & JOB_NOTES) || s->job->notes == MESSAGE_NOTES_MAX || !len)
		return;
	while (len > MESSAGE_TEXT_MAX || (len < strlen(text) && ((unsigned char)text[len] & 0xc0) == 0x80))
		len--; /* not within a character */
	m.note.text = (struct text){ text, len };
	s->job->notes += haul_ok(control_link_send(s->control, &m, NULL));
}

void session_tell_policy(struct server_session *s)
{
	const struct session_job *j = s->job;
	char text[DEVICE_TEXT_MAX + POLICY_TEXT_MAX], part[DEVICE_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "%s there: %s", is_sender(j) ? "source" : "destination",
		       device_text(&j->device, part, sizeof(part)));
	session_note(s, text);
	session_note(s, is_sender(j) ? policy_read_text(&j->policy, text, sizeof(text))
				     : policy_write_text(&j->policy, text, sizeof(text)));
}
