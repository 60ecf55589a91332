/*
 * What our end lies on, and what follows from that and from what the peer says of its end: wishes for JOB, the policy
 * of the job after ACCEPT, and the words for --explain. Nothing here fails: what cannot be looked at is unknown.
 */
#include "agent/transfer_parts.h"

#include "agent/thread_cpu.h"
#include "engine/base/escape.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void transfer_note(struct transfer *t, const struct msg_note *note)
{
	char shown[2 * MESSAGE_TEXT_MAX];

	transfer_explain(t, "%s: %s", t->peer_name, haul_escape(note->text.at, note->text.len, shown, sizeof(shown)));
}

bool transfer_fits(unsigned lanes, uint32_t block_bytes)
{
	return block_cost(block_bytes) * POLICY_BLOCKS_LEAST * lanes <= POLICY_BUDGET_BYTES;
}

/* Of a path that may not be there yet: of the nearest directory above it that is. */
static void look_at(struct transfer *t, const char *path, struct device_facts *facts)
{
	char *at = strdup(*path ? path : "."), *slash;
	int fd = -1;

	while (at && (fd = open(at, O_PATH | O_CLOEXEC)) < 0 && (slash = strrchr(at, '/')) && slash != at)
		*slash = '\0';
	if (fd < 0 && at)
		fd = open(*path == '/' ? "/" : ".", O_PATH | O_CLOEXEC);
	free(at);
	if (fd < 0)
		return;
	device_facts_add(&t->book, fd, facts);
	(void)close(fd);
}

static enum device_kind said_of(const struct transfer *t, bool is_own)
{
	return is_own == t->is_push ? t->req->source_device : t->req->destination_device;
}

void transfer_look_device(struct transfer *t)
{
	t->device = (struct device_facts){ .kind = DEVICE_UNKNOWN };
	if (!t->is_push)
		look_at(t, t->landing.root, &t->device);
	for (size_t i = 0; t->is_push && i < t->source_count; i++)
		look_at(t, t->sources[i].path, &t->device);
	device_facts_set_kind(&t->device, said_of(t, true));
}

static struct policy_input input(const struct transfer *t, enum device_kind peer_kind, bool is_same)
{
	const struct msg_hello *peer = control_peer_hello(control_link_session(t->link));
	const struct policy_end own = { t->device.kind, own_cores() };
	const struct policy_end other = { peer_kind, peer ? peer->cores : 0 };

	return (struct policy_input){ .source = t->is_push ? own : other,
				      .destination = t->is_push ? other : own,
				      .is_same_device = is_same,
				      .lanes = t->req->lanes,
				      .block_bytes = t->req->block_bytes,
				      .direct = (enum direct_mode)t->req->direct,
				      .budget_bytes = POLICY_BUDGET_BYTES };
}

void transfer_wish(struct transfer *t, struct msg_job *job)
{
	struct policy_input in = input(t, said_of(t, false), false);

	policy_choose(&in, &t->policy);
	in.more_lanes = t->policy.lanes_may_grow ? transfer_more_lanes(t, t->policy.lanes) : 0;
	policy_choose(&in, &t->policy);
	job->lanes = t->policy.lanes;
	job->more_lanes = t->policy.more_lanes;
	job->block_bytes = t->policy.block_most; /* the server may lie on a device that likes long ones */
	job->device = t->device.kind;
	job->server_device = said_of(t, false);
	device_facts_id(&t->device, job->disk_id);
	job->fixed = (t->req->lanes ? JOB_FIXED_LANES : 0u) | (t->req->block_bytes ? JOB_FIXED_BLOCK : 0u);
	memcpy(t->disk_id, job->disk_id, sizeof(t->disk_id));
	if (t->req->want_explain)
		job->flags |= JOB_NOTES;
}

void transfer_answer(struct transfer *t, const struct msg_job *job, struct msg_accept *ret_accept)
{
	struct policy_input in;
	struct policy chosen;

	t->other_device = (struct device_facts){ .kind = DEVICE_UNKNOWN };
	look_at(t, t->landing.root, &t->other_device);
	device_facts_set_kind(&t->other_device, said_of(t, false));
	*ret_accept = (struct msg_accept){ .device = t->other_device.kind, .root_exists = t->root_is_there };
	device_facts_id(&t->other_device, ret_accept->disk_id);
	in = input(t, t->other_device.kind, device_ids_equal(t->disk_id, ret_accept->disk_id));
	policy_choose(&in, &chosen);
	ret_accept->lanes = chosen.lanes < job->lanes ? chosen.lanes : job->lanes;
	ret_accept->block_bytes = chosen.block_bytes < job->block_bytes ? chosen.block_bytes : job->block_bytes;
}

void transfer_agree(struct transfer *t, const struct msg_accept *m)
{
	struct policy_input in;
	struct policy chosen;

	t->is_same_device = device_ids_equal(t->disk_id, m->disk_id);
	in = input(t, m->device, t->is_same_device);
	policy_choose(&in, &chosen); /* what the server has found too, unless it has less memory */
	in.lanes = m->lanes;
	in.block_bytes = m->block_bytes;
	in.more_lanes = m->more_lanes;
	policy_choose(&in, &t->policy);
	t->policy.lanes_why = chosen.lanes == m->lanes ? chosen.lanes_why : "as many as the peer has memory for";
	t->policy.block_why = chosen.block_bytes == m->block_bytes ? chosen.block_why : "as the peer has memory for";
}

void transfer_explain_policy(struct transfer *t)
{
	char part[POLICY_TEXT_MAX];

	transfer_explain(t, "%s here: %s", t->is_push ? "source" : "destination",
			 device_text(&t->device, part, sizeof(part)));
	if (t->is_local)
		transfer_explain(t, "destination here: %s", device_text(&t->other_device, part, sizeof(part)));
	if (t->is_same_device)
		transfer_explain(t, "both ends lie on the same disks");
	if (t->is_local)
		transfer_explain(t, "%s; both ends here", policy_text(&t->policy, part, sizeof(part)));
	else
		transfer_explain(t, "%s; peer %s at %s", policy_text(&t->policy, part, sizeof(part)), t->peer_name,
				 channel_address_text(control_link_channel(t->link)));
	transfer_explain(t, "%s",
			 t->is_push ? policy_read_text(&t->policy, part, sizeof(part))
				    : policy_write_text(&t->policy, part, sizeof(part)));
	if (t->is_local)
		transfer_explain(t, "%s", policy_write_text(&t->policy, part, sizeof(part)));
}
