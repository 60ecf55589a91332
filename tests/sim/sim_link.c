#include "sim_link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* xorshift64*: good enough to choose sizes, and the same everywhere. */
uint64_t sim_random(uint64_t *state, uint64_t below)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * UINT64_C(2685821657736338717) >> 20) % below;
}

void sim_connection_open(struct sim_connection *c, uint64_t bytes_per_s, uint64_t delay_ns, size_t piece_max)
{
	*c = (struct sim_connection){ .bytes_per_s = bytes_per_s, .delay_ns = delay_ns, .piece_max = piece_max };
	for (int i = 0; i < 2; i++) {
		c->to[i].cut_at = SIZE_MAX;
		c->to[i].end_ns = SIM_NEVER;
	}
}

void sim_connection_close(struct sim_connection *c)
{
	for (int i = 0; i < 2; i++) {
		free(c->to[i].bytes);
		free(c->to[i].pieces);
	}
}

static void *grown(void *memory, size_t *cap, size_t need, size_t item)
{
	if (need <= *cap)
		return memory;
	*cap = 2 * need + 64;
	memory = realloc(memory, *cap * item);
	assert(memory);
	return memory;
}

static void end_link(struct sim_link *l, uint64_t at_ns, bool is_clean)
{
	if (l->end_ns != SIM_NEVER)
		return;
	l->end_ns = at_ns > l->free_ns ? at_ns : l->free_ns;
	l->is_clean_end = is_clean;
}

static void add_piece(struct sim_connection *c, struct sim_link *l, const uint8_t *data, size_t len, uint64_t now_ns)
{
	l->bytes = grown(l->bytes, &l->cap, l->len + len, 1);
	l->pieces = grown(l->pieces, &l->piece_cap, l->piece_count + 1, sizeof(*l->pieces));
	memcpy(l->bytes + l->len, data, len);
	l->len += len;
	if (l->free_ns < now_ns)
		l->free_ns = now_ns;
	l->free_ns += len * UINT64_C(1000000000) / c->bytes_per_s;
	l->pieces[l->piece_count++] = (struct sim_piece){ l->free_ns + c->delay_ns, l->len };
}

void sim_write(struct sim_connection *c, int reader, const uint8_t *data, size_t len, uint64_t now_ns, uint64_t *random)
{
	struct sim_link *l = &c->to[reader];

	while (len && l->end_ns == SIM_NEVER) {
		size_t n = 1 + (size_t)sim_random(random, c->piece_max);

		n = n < len ? n : len;
		n = n < l->cut_at - l->len ? n : l->cut_at - l->len;
		if (n)
			add_piece(c, l, data, n, now_ns);
		data += n;
		len -= n;
		if (l->len == l->cut_at) {
			end_link(l, l->free_ns + c->delay_ns, false);
			end_link(&c->to[!reader], now_ns + c->delay_ns, false);
		}
	}
}

void sim_finish(struct sim_connection *c, int reader, uint64_t now_ns)
{
	end_link(&c->to[reader], now_ns + c->delay_ns, true);
	if (c->to[reader].free_ns + c->delay_ns > c->to[reader].end_ns)
		c->to[reader].end_ns = c->to[reader].free_ns + c->delay_ns;
}

uint64_t sim_next_ns(const struct sim_connection *c, int reader)
{
	const struct sim_link *l = &c->to[reader];

	if (l->next_piece < l->piece_count)
		return l->pieces[l->next_piece].at_ns;
	return l->is_end_seen ? SIM_NEVER : l->end_ns;
}

const uint8_t *sim_take(struct sim_connection *c, int reader, size_t *ret_len)
{
	struct sim_link *l = &c->to[reader];
	size_t start = l->next_piece ? l->pieces[l->next_piece - 1].end : 0;

	if (l->next_piece == l->piece_count) {
		l->is_end_seen = true;
		*ret_len = 0;
		return NULL;
	}
	*ret_len = l->pieces[l->next_piece++].end - start;
	return l->bytes + start;
}
