/*
 * What the scripts of a hostile peer have in common: a running job, entries to announce, lane frames, and the other
 * side's verdict.
 */
#ifndef HAUL_TESTS_EVIL_SCRIPT_H
#define HAUL_TESTS_EVIL_SCRIPT_H

#include "evil_talk.h"

enum { MIB = 1 << 20, EVIL_LANES = 4, ENTRIES_MAX = 64, VERDICT_MS = 20000 };

/* Verdicts beside the codes of ERROR. */
enum {
	V_DONE = -1,   /* the job went through */
	V_CLOSED = -2, /* the other side closed without a word */
	V_SILENT = -3, /* it said nothing and did not close */
	V_FAULT = -4,  /* the script itself could not go on */
	V_OK = -5,     /* the script saw what it wanted to see */
};

struct evil {
	struct dial_trust *trust, *other; /* other: another device the server knows */
	unsigned port;
	const char *share_dir; /* the share `inbox` as a directory of this machine */
	const char *name;      /* of the case: also of the directory it writes to */
};

struct job {
	struct evil *evil;
	struct talk control;
	struct talk lanes[EVIL_LANES];
	struct msg_accept accept;
	struct manifest_record records[ENTRIES_MAX];
	size_t record_count;
	uint64_t entry_count, byte_count;
	struct entry_result results[ENTRIES_MAX];
	size_t result_count;
	struct msg_job_end peer_end;
	bool has_peer_end, has_done;
	uint32_t error; /* code of the ERROR that came */
};

/* From TCP to the greeting's end. */
bool evil_greet(struct evil *e, struct talk *t);
struct msg_hello evil_hello(void);
struct msg_job evil_push(const struct evil *e);
struct msg_job evil_pull(const char *path);

/* To ACCEPT; on refusal `error` is set. */
bool job_begin(struct job *j, struct evil *e, const struct msg_job *m);
/* One lane's connection to LANE_OK. False: refused, `*ret_verdict` (may be NULL) says how. */
bool job_lane(struct job *j, const struct dial_trust *as, struct talk *lane, const struct msg_lane_hello *hello,
	      int *ret_verdict);
/* All lanes of the ACCEPT, epoch 0. */
bool job_lanes(struct job *j);
void job_close(struct job *j);

/* Hear messages until one of `type`, keeping results, JOB_END, DONE and ERROR of the way. */
const struct message *job_hear(struct job *j, enum message_type type);
/* All that is heard until the end. */
int job_verdict(struct job *j);

/* Entries for job_announce(): at the root unless `parent` says otherwise. */
struct manifest_entry *job_add(struct job *j, enum entry_kind kind, uint64_t parent, const char *name, uint64_t size);
void job_add_end(struct job *j, uint64_t directory, uint64_t count);
bool job_announce(struct job *j);     /* MANIFEST with what was added */
bool job_announce_end(struct job *j); /* MANIFEST_END */
/* JOB_END with the root the other side has found, then DONE: as an honest sender would. V_DONE if all went well. */
int job_agree(struct job *j);

/* A MANIFEST of one entry with any name and parent. */
bool job_raw_name(struct job *j, const void *name, size_t len);

/* A file's content, the same for every script: byte `i` of it. */
uint8_t content_at(uint64_t i);
void content_fill(void *to, uint64_t offset, size_t len);

/* A BLOCK of these leaves of a file of `size` bytes; the leaves of `bad` get digests that are wrong. */
bool lane_block(struct talk *lane, uint64_t entry, uint32_t attempt, uint64_t size, uint64_t first, uint32_t count,
		uint32_t bad);
bool lane_header(struct talk *lane, const struct lane_header *h);
/* A PACK of one file. */
bool lane_pack(struct talk *lane, uint64_t entry, uint32_t attempt, uint32_t size, bool is_bad);
bool lane_end(struct talk *lane);

struct evil_case {
	const char *name;
	int (*run)(struct evil *e);
	int expect[3]; /* verdicts, 0 = no more */
	/* Path below the case's directory that must not exist afterwards, or whose content must be content_fill()'s. */
	const char *absent;
	const char *whole;
	uint64_t size; /* of `whole` */
};

extern const struct evil_case talk_cases[], manifest_cases[], push_cases[], again_cases[], pull_cases[], probe_cases[];

/* A line of those tables: a script, whose name is the case's, and its verdicts. */
#define CODE(name) HAUL_CODE_##name
#define CASE(name, ...)                                                                                                \
	{                                                                                                              \
#name, name, { __VA_ARGS__ }, NULL, NULL, 0                                                            \
	}
#define CASE_ABSENT(name, path, ...)                                                                                   \
	{                                                                                                              \
#name, name, { __VA_ARGS__ }, path, NULL, 0                                                            \
	}
#define CASE_WHOLE(name, path, size, ...)                                                                              \
	{                                                                                                              \
#name, name, { __VA_ARGS__ }, NULL, path, size                                                         \
	}

/* Scripts of a server; `expect` is not used: the caller judges the client's exit code. */
struct evil_server_case {
	const char *name;
	int (*run)(struct evil *e, int listen_fd);
	const char *words; /* arguments of haul, for the caller */
	const char *exits; /* "3|4" */
};
extern const struct evil_server_case server_cases[];

#endif
