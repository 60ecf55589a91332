/* Inside of a sender, shared by sender.c (life and end), sender_manifest.c, sender_serve.c, sender_owed.c,
 * sender_have.c, sender_again.c, sender_result.c and sender_erase.c. Main loop only. */
#ifndef HAUL_AGENT_SENDER_PARTS_H
#define HAUL_AGENT_SENDER_PARTS_H

#include "agent/choice.h"
#include "agent/index_map.h"
#include "agent/move_eraser.h"
#include "agent/sender.h"
#include "agent/source_scan.h"
#include "engine/entry_digest.h"
#include "engine/hash_tree.h"

/*
 *  RUNNING --every result in--> CLOSING --lanes ended--> AGREEING --roots equal, DONE both ways--> ENDED
 *                                                            +--a move: ERASING, then AGREEING again
 *     +------- fault, stop --------+---------------------+--> STOPPING --all gone--> ENDED
 */
enum sender_state { SENDER_RUNNING, SENDER_CLOSING, SENDER_AGREEING, SENDER_ERASING, SENDER_STOPPING, SENDER_ENDED };

/* Leaves that left over a lane in one frame, and are not acknowledged. */
struct send_owed {
	struct list link;
	unsigned lane;
	uint32_t attempt;
	uint64_t first_leaf;
	uint32_t leaf_count;
	bool is_digests;
};

/* The same, of all entries. */
struct sender_owes {
	unsigned count[LANES_MAX];    /* frames and small files */
	uint64_t heard_ns[LANES_MAX]; /* when something was last heard of the lane, or it began to owe */
	size_t total;                 /* struct send_owed */
	unsigned untracked;           /* entries that owe more than is kept */
};

/* An announced entry without a result. */
struct send_entry {
	uint64_t index;
	struct entry_facts facts;
	unsigned source;
	char *path; /* landing; owned, like the next two */
	char *source_path;
	char *link_target;
	size_t link_target_len;
	uint32_t attempt;       /* of the last WANT */
	struct hash_tree *tree; /* big files while they are being read */
	struct haul_digest root;
	bool has_root;
	bool has_failed; /* FAILED sent */
	bool was_opened;
	struct entry_time opened_ctime; /* of the file when its content was first opened */
	bool is_open;                   /* counted in open_files */
	bool was_sent;                  /* content went out, not only digests */
	bool has_told;                  /* leaves of it are there from an earlier job: the receiver's HAVE */
	bool is_telling;                /* HAVEs of the attempt that the next WANT begins */
	uint64_t told_bytes;            /* in totals.bytes_resumed */
	uint64_t told_basis;            /* in totals.bytes_reused */
	uint64_t leaves_left;           /* of the attempt being read */
	bool is_wanted;                 /* counted in wanted_count */
	uint64_t moved_bytes;           /* sent in the state that is announced */
	struct send_again *again;       /* owned; NULL unless it was put off */
	unsigned wants_due;             /* wished for and not yet all sent */
	struct list owed;               /* struct send_owed; owned */
	bool owes_small;                /* it left in a pack */
	unsigned small_lane;            /* over that one */
	bool owes_untracked;
};

/* A WANT for a big file, from the wish to the queue. */
struct send_open {
	struct list link;
	uv_work_t pool;
	struct sender *sender;
	uint64_t entry;
	uint32_t attempt;
	bool is_digests_only, is_repair, is_again;
	bool is_other_state;       /* not the one that the scan saw */
	struct leaf_range *ranges; /* owned; whole file: one range */
	size_t range_count;        /* at least 1 */
	int root_fd;
	char *path; /* owned copy */
	enum link_rule links;
	struct entry_facts facts;
	enum direct_mode direct;
	bool by_place; /* the queue wants to know where it lies */
	uint64_t place;
	bool is_probe;
	int probe_fd;          /* of the job; -1: made up */
	struct disk_file file; /* fd -1 unless open */
	haul_status status;
};

struct sender {
	struct job_config cfg;
	struct scan_source *sources; /* owned copy; handles owned */
	size_t source_count;
	enum sender_state state;
	struct source_scan scan;
	struct choice *choice; /* NULL: everything is taken; the scan's until it has ended */
	struct block_queue queue;
	struct lane_set lanes;
	struct index_map window;                         /* index -> send_entry */
	struct scan_batch *batches[SOURCE_SCAN_BATCHES]; /* received and not yet announced, oldest first */
	unsigned batch_count;
	bool scan_is_over, end_announced, lanes_ready;
	struct list opens;   /* struct send_open, waiting */
	unsigned modes_told; /* --explain: bit n: enum buffered_reason n has been said */
	unsigned open_files; /* being opened or read */
	unsigned in_pool;
	struct entry_failure failures[JOB_BATCH_RECORDS]; /* to be sent */
	size_t failure_count;
	struct job_digest *digest;
	struct job_totals totals;
	struct sender_owes owes;
	uint64_t closing_ns; /* CLOSING: since when */
	/* Files that changed, struct send_again: to be put off, put off in that order, to be told anew. */
	struct list put_offs_due, put_off, changes_due;
	size_t put_off_count; /* in the three, or being looked at */
	size_t again_round;   /* of them that are to be looked at now */
	unsigned looks;
	size_t wanted_count;      /* entries wanted and without result, but for those put off */
	uint64_t announced_bytes; /* of files, as MANIFEST has it */
	uint64_t had_leaves;      /* of the files that the receiver has told something of: bounds their trees */
	uint64_t cpu_at_start_ms;
	haul_status why;
	struct haul_fault fault;
	bool own_end_sent, peer_end_seen, done_sent;
	struct msg_job_end peer_end;
	struct mail farewell;
	struct sender_erase {
		struct move_eraser *eraser; /* owned; NULL: no move */
		bool has_started;
		struct move_batch *batch; /* with us; NULL: with the eraser */
		bool is_asked;            /* its LOOK is out */
		size_t kept_told;         /* of the batch, with MOVED */
		bool moved_is_told;
		uint64_t leaves; /* read once more */
	} erase;
};

/* sender.c */
void sender_fail(struct sender *s, haul_status st, const struct haul_fault *fault);
void sender_check_end(struct sender *s);
void sender_explain(void *owner, const char *text);
void sender_maybe_farewell(struct sender *s);

/* sender_manifest.c */
void sender_on_batch(void *owner, struct scan_batch *b);
void sender_announce(struct sender *s); /* as much as credit and link allow */
/* What tells states of a file apart: its source id, if it has one, and ENTRY_SPARSE. */
void sender_file_identity(const struct entry_facts *facts, struct manifest_entry *e);

/* sender_serve.c */
void sender_wants(struct sender *s, const struct msg_want *m);
void sender_serve_more(struct sender *s); /* open what waits, within JOB_OPEN_FILES */
void sender_on_report(void *owner, struct lane_report *r);
/* It is put off, if it has changed and may be sent again, or lost. */
void sender_entry_failed(struct sender *s, struct send_entry *e, haul_status st);
void sender_entry_lost(struct sender *s, struct send_entry *e, haul_status st); /* FAILED */
void sender_entry_closed(struct sender *s, struct send_entry *e);               /* its file is no longer in work */
void sender_flush_failures(struct sender *s);
void send_open_free(struct send_open *o);

/* Some of it is sent again, in the same attempt. The ranges are copied. */
haul_status sender_want_again(struct sender *s, struct send_entry *e, const struct leaf_range *ranges, size_t count,
			      bool is_digests);
/* Into *pack, which is queued when it is full; NULL at first. */
haul_status sender_want_small(struct sender *s, struct send_entry *e, struct send_pack **pack);

/* sender_owed.c */
void sender_owes_leaves(struct sender *s, struct send_entry *e, const struct lane_report *r);
void sender_owes_small(struct sender *s, struct send_entry *e, unsigned lane);
void sender_owes_no_more(struct sender *s, struct send_entry *e); /* its result is there, or another attempt begins */
void sender_acks(struct sender *s, const struct msg_ack *m);
void sender_alive(struct sender *s, uint32_t lanes);
void sender_lane_vacant(struct sender *s, unsigned lane); /* what it owes goes out again */

/* sender_have.c */
void sender_have(struct sender *s, const struct msg_digests *m, bool is_basis);
void sender_forget_told(struct sender *s, struct send_entry *e); /* what it was told counts no more */

/* sender_erase.c */
bool sender_is_move(const struct sender *s);
haul_status sender_erase_open(struct sender *s, struct haul_fault *fault);
void sender_erase_note(struct sender *s, const struct send_entry *e, const struct entry_result *r);
void sender_erase_start(struct sender *s); /* both ends have agreed */
void sender_erase_writable(struct sender *s);
void sender_looked(struct sender *s, const struct msg_looked *m);
/* The job stops: whether nothing is aside any more; else sender_maybe_farewell() comes when it is so. */
bool sender_erase_is_over(struct sender *s);

/* sender_again.c */
bool sender_put_off(struct sender *s, struct send_entry *e, haul_status st); /* false: it is not sent again */
void sender_again(struct sender *s);                                         /* go on with what was put off */
bool sender_is_put_off(const struct send_entry *e);
unsigned sender_states(const struct send_entry *e);                          /* that it was told in after the first */
bool sender_is_attempt_before(const struct send_entry *e, uint32_t attempt); /* of another state than the announced */
/* Its RESULT has come: it speaks of the state of that attempt. */
void sender_is_wanted(struct sender *s, struct send_entry *e, bool is_wanted);
void sender_result_is_of(struct sender *s, struct send_entry *e, uint32_t attempt);
void send_again_free(struct send_again *a);

/* What has come of an attempt counts no more: it was before what is announced by now. */
static inline bool sender_is_over(const struct send_entry *e, uint32_t attempt)
{
	return e->has_failed || sender_is_put_off(e) || sender_is_attempt_before(e, attempt);
}

/* sender_result.c */
void sender_results(struct sender *s, const struct msg_result *m);
void send_entry_free(struct send_entry *e);

#endif
