/*
 * Two control links in one process, tied to each other: what one says is heard by the other on the loop's next turn.
 *
 * The ends of a local job talk as over the network, with the same session, codec and credit, so that neither knows the
 * difference. Nothing waits for a socket, so the output of an end never grows beyond one turn of the loop. Finishing is
 * seen by the other end as a proper close, closing without it as a lost connection.
 */
#include "agent/control_link_impl.h"

#include <string.h>

enum { PIECE_BYTES = 16 * 1024 };

/* The next piece of the output becomes input of the other end, which may answer, finish or close from in there. */
static haul_status hand_over(struct control_link *l)
{
	struct control_link *to = l->other;
	size_t len = l->output.len < PIECE_BYTES ? l->output.len : PIECE_BYTES;
	haul_status st = byte_queue_put(&to->input, byte_queue_front(&l->output), len);

	if (haul_failed(st))
		return st;
	byte_queue_drop(&l->output, len);
	link_parse(to);
	return HAUL_OK;
}

static void tell_end(struct control_link *to, haul_status why)
{
	struct haul_fault fault = { .status = HAUL_OK };

	if (haul_failed(why))
		(void)haul_fault_set(&fault, why, "the other end is gone");
	link_stream_ended(to, why, &fault);
}

static void write_all(struct control_link *l)
{
	struct haul_fault fault;

	while (l->output.len && l->other) {
		haul_status st = hand_over(l);

		if (haul_ok(st))
			continue;
		(void)haul_fault_set(&fault, st, "no memory for a message");
		link_end(l, st, &fault);
		return;
	}
	if (!l->other)
		byte_queue_drop(&l->output, l->output.len);
}

void pair_write(struct control_link *l)
{
	bool is_last = l->state == LINK_FINISHING || l->state == LINK_FAILING;

	write_all(l);
	if (l->state == LINK_CLOSED || l->state == LINK_ENDED)
		return;
	if (!l->other) {
		tell_end(l, l->is_shut ? HAUL_OK : HAUL_LOST);
	} else if (is_last && !l->is_shut) {
		l->is_shut = true;
		write_all(l->other); /* what it has said already is not lost by our end */
		if (l->other)
			tell_end(l->other, HAUL_OK);
	}
}

void pair_leave(struct control_link *l)
{
	struct control_link *other = l->other;

	l->other = NULL;
	if (!other)
		return;
	other->other = NULL;
	link_soon(other);
}

haul_status control_link_pair(uv_loop_t *loop, struct control_pair_end *client, struct control_pair_end *server,
			      struct haul_fault *fault)
{
	struct control_link *c = NULL, *s = NULL;
	struct msg_hello hello;
	haul_status st;

	hello_fill(&hello, NULL);
	st = link_new(loop, NULL, CONTROL_CLIENT, &hello, &c, fault);
	if (haul_failed(st))
		return st;
	st = link_new(loop, NULL, CONTROL_SERVER, &hello, &s, fault);
	if (haul_failed(st)) {
		control_link_close(c, NULL, NULL);
		return st;
	}
	c->other = s;
	s->other = c;
	control_link_set_callbacks(c, client->cb, client->ctx);
	control_link_set_callbacks(s, server->cb, server->ctx);
	client->link = c;
	server->link = s;
	return HAUL_OK;
}
