/*
 * The least that can be called an agent: it carries out the wishes of a control session and a lane session for a tree
 * of files in memory. Its digests are sums of bytes, since what they are is not the protocol's business.
 */
#ifndef HAUL_TESTS_SIM_AGENT_H
#define HAUL_TESTS_SIM_AGENT_H

#include "peer-protocol/control_session.h"
#include "peer-protocol/lane_session.h"
#include "sim_link.h"

enum { SIM_FILES_MAX = 32, SIM_INBOX_CAP = 512 * 1024 };

struct sim_file {
	char name[16];
	uint32_t bytes;
	uint8_t *data; /* owned */
	uint32_t arrived;
};

/* Entries of the job: a directory with files in it, in canonical order. Entry 0 is the directory. */
struct sim_tree {
	struct sim_file files[SIM_FILES_MAX];
	uint32_t file_count;
};

void sim_tree_fill(struct sim_tree *t, uint32_t file_count, uint32_t bytes_max, uint64_t *random);
void sim_tree_close(struct sim_tree *t);

/* One side's end of one connection: a session, and what has arrived and is not used yet. */
struct sim_end {
	struct control_session *session;
	uint8_t *inbox; /* owned */
	size_t inbox_len;
	haul_status ended; /* first failure, or HAUL_OK */
	bool is_closed;    /* nothing more is read or written */
};

struct sim_agent {
	enum control_role role;
	bool is_sender;
	enum job_direction direction;
	struct sim_tree *tree; /* sender: to be sent; receiver: what has come */
	struct sim_end control, lane;
	struct lane_session receiving;
	uint8_t *block;     /* owned */
	uint32_t announced; /* sender: records of the manifest that were said */
	uint32_t asked;     /* sender: files that are wanted */
	uint32_t wanted;    /* receiver: files it wants; sender: files it has written to the lane */
	uint32_t results;
	bool has_manifest_end, has_accept, has_ended, has_peer_end;
	/* The world it lives in; borrowed. */
	struct sim_connection *control_link, *lane_link;
	uint64_t *now_ns, *random;
};

void sim_agent_open(struct sim_agent *a, enum control_role role, enum job_direction direction, struct sim_tree *tree);
void sim_agent_close(struct sim_agent *a);

/* The connection is there: a server greets. */
void sim_agent_start(struct sim_agent *a);

/* Bytes (or with len 0 the end) have arrived on one of the two connections. */
void sim_agent_arrived(struct sim_agent *a, bool is_lane, const uint8_t *data, size_t len, bool is_clean_end);

/* Both connections are over for this side. */
bool sim_agent_is_over(const struct sim_agent *a);

#endif
