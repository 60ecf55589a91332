/*
 * Bytes between the socket and a channel's buffers.
 *
 * Output: a batch that is full, or flushed, is offered to the kernel at once; what the kernel does not take stays with
 * the loop, and the other batch is filled meanwhile. When both are full the writer has to wait. Input: the socket is
 * asked for as much as the buffer holds, unless the owner paused or has not read what is there.
 */
#include "agent/channel_impl.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int channel_socket(const struct channel *ch)
{
	uv_os_fd_t fd = -1;

	if (uv_fileno((const uv_handle_t *)&ch->tcp, &fd))
		return -1;
	return fd;
}

/* HAUL_DEAD_PEER_MS makes it shorter, for tests; whole seconds, 2 at least. */
unsigned channel_dead_peer_ms(void)
{
	const char *asked = getenv("HAUL_DEAD_PEER_MS");
	unsigned long ms = asked ? strtoul(asked, NULL, 10) : 0;

	return ms >= 2000 && ms < CHANNEL_DEAD_PEER_MS ? (unsigned)(ms / 1000 * 1000) : CHANNEL_DEAD_PEER_MS;
}

/*
 * A peer that is gone without a word is found out within that time: where bytes of ours are on their way by
 * TCP_USER_TIMEOUT, where all is quiet by keepalives (tcp(7)): 10 s, then 4 of them 5 s apart.
 */
void channel_tune_socket(struct channel *ch)
{
	unsigned dead_ms = channel_dead_peer_ms(), idle_s = dead_ms / 3000 ? dead_ms / 3000 : 1;
	int interval_s = dead_ms < 6000 ? 1 : (int)dead_ms / 6000, fd = channel_socket(ch);
	int count = ((int)(dead_ms / 1000) - (int)idle_s) / interval_s;

	(void)uv_tcp_nodelay(&ch->tcp, 1);
	(void)uv_tcp_keepalive(&ch->tcp, 1, idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
}

/* Input */

bool channel_has_spoken(const struct channel *ch)
{
	int waiting = 0;

	return ch->has_spoken || (!ioctl(channel_socket(ch), FIONREAD, &waiting) && waiting > 0);
}

static size_t input_room(const struct channel_input *in)
{
	return in->cap - (in->end - in->start);
}

/* What is left is less than a record as a rule, so moving it to the front is cheap. */
static void input_make_room(struct channel_input *in)
{
	if (in->start == in->end) {
		in->start = in->end = 0;
	} else if (in->start && in->cap - in->end < in->cap / 2) {
		memmove(in->data, in->data + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	struct channel *ch = handle->data;
	struct channel_input *in = &ch->parts->input;

	(void)suggested;
	input_make_room(in);
	*ret_buf = uv_buf_init((char *)in->data + in->end, (unsigned)(in->cap - in->end));
}

void channel_tell_readable(struct channel *ch)
{
	ch->cb->on_readable(ch->ctx, ch);
	if (ch->state == CHANNEL_READY && !ch->is_paused && !ch->is_end_due)
		channel_tls_probe(ch);
}

static void input_arrived(struct channel *ch)
{
	switch (ch->state) {
	case CHANNEL_SHAKING:
		channel_tls_shake(ch);
		break;
	case CHANNEL_READY:
		channel_tell_readable(ch);
		break;
	case CHANNEL_REFUSING:
		ch->parts->input.start = ch->parts->input.end = 0;
		break;
	case CHANNEL_CONNECTING:
	case CHANNEL_ENDED:
	case CHANNEL_CLOSED:
		break;
	}
}

/* TLS may hold whole records still: the owner reads those first, and channel_read() then finds the end. */
static void input_over(struct channel *ch, int err)
{
	ch->is_input_over = true;
	ch->input_errno = err;
	if (ch->state == CHANNEL_READY) {
		if (!ch->is_end_due)
			channel_tell_readable(ch);
		return;
	}
	if (ch->state == CHANNEL_SHAKING && err)
		channel_end_soon(ch, HAUL_LOST, "%s closed the connection before saying who it is: %s",
				 ch->parts->address_text, strerror(err));
	else if (ch->state == CHANNEL_SHAKING)
		channel_end_soon(ch, HAUL_LOST, "%s closed the connection before saying who it is",
				 ch->parts->address_text);
	else
		channel_end_soon(ch, HAUL_LOST, "%s closed the connection", ch->parts->address_text);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
	struct channel *ch = stream->data;

	(void)buf;
	if (count == 0)
		return;
	if (count > 0) {
		ch->has_spoken = true;
		ch->parts->input.end += (size_t)count;
		input_arrived(ch);
	} else {
		input_over(ch, count == UV_EOF ? 0 : (int)-count);
	}
	if (ch->state != CHANNEL_CLOSED && ch->parts)
		channel_input_update(ch);
}

static bool input_is_wanted(const struct channel *ch)
{
	switch (ch->state) {
	case CHANNEL_SHAKING:
	case CHANNEL_REFUSING:
		return !ch->is_input_over;
	case CHANNEL_READY:
		return !ch->is_input_over && !ch->is_end_due && !ch->is_paused && input_room(&ch->parts->input) > 0;
	case CHANNEL_CONNECTING:
	case CHANNEL_ENDED:
	case CHANNEL_CLOSED:
		break;
	}
	return false;
}

void channel_input_update(struct channel *ch)
{
	bool is_wanted = input_is_wanted(ch);
	int err = 0;

	if (is_wanted == ch->is_reading)
		return;
	if (is_wanted)
		err = uv_read_start((uv_stream_t *)&ch->tcp, on_alloc, on_read);
	else
		(void)uv_read_stop((uv_stream_t *)&ch->tcp);
	ch->is_reading = is_wanted && !err;
	if (err)
		channel_end_soon(ch, HAUL_LOST, "%s: %s", ch->parts->address_text, uv_strerror(err));
}

/* Output */

static struct channel_batch *filling(const struct channel *ch)
{
	return &ch->parts->batches[ch->parts->filling];
}

/* Input may still hold the reason (an alert), so the end is left to it, unless the owner does not read. */
static void output_dead(struct channel *ch, int err)
{
	ch->is_write_dead = true;
	filling(ch)->len = 0;
	if (ch->is_paused || !ch->is_reading)
		channel_end_soon(ch, HAUL_LOST, "connection to %s was lost: %s", ch->parts->address_text,
				 uv_strerror(err));
}

static void on_written(uv_write_t *req, int err)
{
	struct channel *ch = req->data;

	ch->is_writing = false;
	if (ch->state == CHANNEL_CLOSED)
		return;
	ch->parts->batches[!ch->parts->filling].len = 0;
	if (err && !ch->is_write_dead)
		output_dead(ch, err);
	channel_output_pump(ch);
	if (ch->state == CHANNEL_SHAKING) {
		channel_tls_shake(ch);
	} else if (ch->is_write_wanted && ch->state == CHANNEL_READY && !ch->is_write_dead) {
		ch->is_write_wanted = false;
		ch->cb->on_writable(ch->ctx, ch);
	}
}

/* The kernel gets the batch being filled; if it takes it whole, filling goes on there, else in the other one. */
static void output_submit(struct channel *ch)
{
	struct channel_batch *b = filling(ch);
	uv_buf_t buf = uv_buf_init((char *)b->data, (unsigned)b->len);
	int taken, err;

	assert(!ch->is_writing && b->len);
	taken = uv_try_write((uv_stream_t *)&ch->tcp, &buf, 1);
	if (taken < 0 && taken != UV_EAGAIN) {
		output_dead(ch, taken);
		return;
	}
	if (taken == (int)b->len) {
		b->len = 0;
		return;
	}
	if (taken > 0)
		buf = uv_buf_init(buf.base + taken, (unsigned)(b->len - (size_t)taken));
	ch->write_req.data = ch;
	err = uv_write(&ch->write_req, (uv_stream_t *)&ch->tcp, &buf, 1, on_written);
	if (err) {
		output_dead(ch, err);
		return;
	}
	ch->is_writing = true;
	ch->parts->filling = !ch->parts->filling;
}

static bool batch_is_usable(struct channel_batch *b, size_t want)
{
	uint8_t *data;

	if (b->len || (b->data && b->cap >= want))
		return true;
	data = malloc(want);
	if (!data)
		return b->data != NULL;
	free(b->data);
	b->data = data;
	b->cap = want;
	return true;
}

static bool batch_has_room(struct channel *ch)
{
	struct channel_batch *b = filling(ch);

	return batch_is_usable(b, ch->parts->batch_bytes) && b->cap - b->len >= CHANNEL_RECORD_ROOM;
}

bool channel_output_room(struct channel *ch)
{
	if (ch->is_write_dead)
		return false;
	if (batch_has_room(ch))
		return true;
	if (!filling(ch)->data) {
		channel_end_soon(ch, HAUL_NO_MEMORY, "no memory to send to %s", ch->parts->address_text);
		return false;
	}
	if (ch->is_writing)
		return false;
	output_submit(ch);
	return !ch->is_write_dead && batch_has_room(ch);
}

bool channel_output_is_empty(const struct channel *ch)
{
	return !ch->is_writing && !filling(ch)->len;
}

static void on_shut(uv_shutdown_t *req, int err)
{
	(void)req;
	(void)err; /* a socket that cannot be shut down any more says so to the reader too */
}

/* Send what is to leave now, then what follows the last byte. */
void channel_output_pump(struct channel *ch)
{
	if (ch->finish == FINISH_WANTED && channel_tls_close_notify(ch))
		ch->finish = FINISH_QUEUED;
	if (ch->finish != FINISH_NONE)
		ch->is_flush_wanted = true;
	if (!ch->is_writing && filling(ch)->len && !ch->is_write_dead &&
	    (ch->is_flush_wanted || filling(ch)->cap - filling(ch)->len < CHANNEL_RECORD_ROOM))
		output_submit(ch);
	if (!filling(ch)->len)
		ch->is_flush_wanted = false;
	if (ch->finish == FINISH_QUEUED && channel_output_is_empty(ch) && !ch->is_write_dead) {
		ch->finish = FINISH_SHUT;
		(void)uv_shutdown(&ch->shutdown_req, (uv_stream_t *)&ch->tcp, on_shut);
	}
}

void channel_flush(struct channel *ch)
{
	if (ch->state == CHANNEL_CLOSED || ch->state == CHANNEL_CONNECTING)
		return;
	ch->is_flush_wanted = true;
	channel_output_pump(ch);
}

size_t channel_queued(const struct channel *ch)
{
	if (ch->state == CHANNEL_CLOSED)
		return 0;
	return filling(ch)->len + uv_stream_get_write_queue_size((const uv_stream_t *)&ch->tcp);
}

struct round_trip channel_round_trip(const struct channel *ch)
{
	return ch->state == CHANNEL_CLOSED ? (struct round_trip){ 0 } : round_trip_of(channel_socket(ch));
}
