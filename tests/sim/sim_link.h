/*
 * A connection that is not there: bytes written at one end arrive at the other later, in pieces of random size, at a
 * limited rate. Time is a number. A cut ends both directions: what was under way before it still arrives.
 */
#ifndef HAUL_TESTS_SIM_LINK_H
#define HAUL_TESTS_SIM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NEVER UINT64_MAX

/* A number from 0 to `below` - 1, from a state that is a seed. */
uint64_t sim_random(uint64_t *state, uint64_t below);

struct sim_piece {
	uint64_t at_ns; /* when it arrives */
	size_t end;     /* the stream's length with it */
};

/* One direction. */
struct sim_link {
	uint8_t *bytes; /* all that was ever written */
	size_t len, cap;
	struct sim_piece *pieces;
	size_t piece_count, piece_cap, next_piece;
	uint64_t free_ns; /* when the line has sent what was written */
	size_t cut_at;    /* bytes that get through; SIZE_MAX: all */
	uint64_t end_ns;  /* when the end of the stream arrives; SIM_NEVER: not yet ended */
	bool is_clean_end;
	bool is_end_seen;
};

struct sim_connection {
	struct sim_link to[2]; /* by who reads: 0 the client, 1 the server */
	uint64_t bytes_per_s;
	uint64_t delay_ns;
	size_t piece_max; /* bytes */
};

void sim_connection_open(struct sim_connection *c, uint64_t bytes_per_s, uint64_t delay_ns, size_t piece_max);
void sim_connection_close(struct sim_connection *c);

void sim_write(struct sim_connection *c, int reader, const uint8_t *data, size_t len, uint64_t now_ns,
	       uint64_t *random);

/* The writer to `reader` closes with close_notify. */
void sim_finish(struct sim_connection *c, int reader, uint64_t now_ns);

/* When something arrives at `reader` next. */
uint64_t sim_next_ns(const struct sim_connection *c, int reader);

/* Take what has arrived at sim_next_ns(): a piece, or with ret_len 0 the end. */
const uint8_t *sim_take(struct sim_connection *c, int reader, size_t *ret_len);

#endif
