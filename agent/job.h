/*
 * What the sending and the receiving end of a job have in common: their set-up, what they tell their owner, how they
 * end.
 *
 * A job end belongs to the main loop. Its owner (the command line's transfer or a session of hauld) passes it the
 * messages of the control link and hears of it through struct job_callbacks.
 */
#ifndef HAUL_AGENT_JOB_H
#define HAUL_AGENT_JOB_H

#include "agent/choice_spec.h"
#include "agent/control_link.h"
#include "agent/lane_set.h"
#include "agent/mirror.h"
#include "agent/policy.h"
#include "agent/root_rule.h"
#include "engine/entry_digest.h"

/* One entry has ended, on either side. Borrowed for the call. */
struct job_entry {
	const char *path; /* landing path below the job's root */
	enum entry_kind kind;
	uint64_t size;
	enum entry_outcome outcome;
	haul_status code; /* why it failed; HAUL_OK otherwise */
	bool failed_here; /* the failure was seen on this side */
	uint32_t changes; /* enum change_bits */
	uint32_t lost;    /* enum entry_lost: of its metadata, although the entry is there */
	bool has_offset;
	uint64_t offset;
	bool is_cloned;     /* it shares its source's extents; nobody has read it */
	unsigned states;    /* in which the source was told after the first: times it was sent anew */
	const char *detail; /* untrusted, or NULL */
	/* The sending end's own view of a source, for a move; facts NULL: none. */
	bool has_source; /* `source` is known */
	unsigned source;
	const char *source_path;
	const struct entry_facts *facts;
	bool is_committed; /* the receiver has made it, or written its content, in this run, and synced it */
	bool is_equal;     /* the receiver's root of the file is the very one that we read */
	size_t detail_len;
};

struct job_totals {
	uint64_t entries, files, bytes;     /* announced */
	uint64_t proven, unchanged, failed; /* entries by outcome */
	uint64_t files_proven, files_unchanged, files_failed;
	uint64_t files_sent;                 /* whose content crossed */
	uint64_t files_cloned, bytes_cloned; /* whose content is shared with the source; counted as unchanged too */
	uint64_t bytes_skipped;              /* of `bytes`: there already */
	uint64_t bytes_done;                 /* of `bytes`: nothing more to do for them */
	uint64_t leaves_moved;               /* read and sent, written, or compared: that it goes on */
	uint64_t bytes_sent;                 /* payload on the wire */
	uint64_t bytes_holes;                /* of `bytes`: lay in holes, and did not travel */
	uint64_t bytes_resumed;              /* of files that went on: there since an earlier job */
	uint64_t bytes_reused;               /* of files sent: equal in the version that was there */
	uint64_t files_again;                /* of those proven: changed meanwhile, and were sent anew */
	uint64_t bytes_again;                /* of the sums above: of states that no longer count */
	bool scan_is_complete;               /* `entries`, `files`, `bytes` are final */
	struct haul_digest root;             /* when the job has ended well */
	bool has_root;
	bool is_durable;
	struct job_lack lack;        /* at the destination */
	uint64_t doomed_told;        /* entries of the destination alone that were told */
	struct mirror_totals mirror; /* a sync's deletions */
	/* Sender, and who receives from a peer: what the choice left out, and which of its rules ever matched. */
	uint64_t left_entries, left_files;
	uint8_t rules_matched[CHOICE_RULES_MAX / 8];
	bool has_agreed; /* both ends computed the same root */
	struct {
		uint64_t files, entries, bytes; /* deleted; bytes of the files */
		uint64_t kept_files;
	} moved;                      /* at the source of a move to another machine */
	struct lane_times own, peer;  /* where the lanes' time went; peer's as it says */
	uint64_t cpu_ms, peer_cpu_ms; /* of the whole processes while the job ran */
};

/* A number that changes whenever a job has made headway; messages alone are none. */
static inline uint64_t job_headway(const struct job_totals *t)
{
	return t->leaves_moved + t->bytes_sent + t->bytes_holes + t->entries + t->proven + t->unchanged + t->failed +
	       t->doomed_told + t->moved.entries + t->moved.kept_files;
}

/* What of `bytes` need not cross any more, by whatever way; of a state that no longer counts too. */
static inline uint64_t job_bytes_crossed(const struct job_totals *t)
{
	return t->bytes_skipped + t->bytes_sent + t->bytes_holes + t->bytes_resumed + t->bytes_reused;
}

/*
 * Entry `index` has ended: its record goes into the job's tree and into the totals. Both ends do the same with what
 * they themselves read or committed.
 *
 * r         borrowed; its root counts for a proven file only
 * was_sent  its content crossed
 * HAUL_NO_MEMORY, HAUL_IO (scratch file): nothing was counted.
 */
HAUL_MUST_USE haul_status job_settle(struct job_totals *t, struct job_digest *digest, uint64_t index,
				     const struct entry_record *r, bool was_sent);

/* Both ways between a lane's account and what JOB_END says of it. */
struct job_times job_times_say(const struct lane_times *t, uint64_t process_cpu_ms);
struct lane_times job_times_heard(const struct job_times *m);

/* What a probe moves (docs/PROTOCOL.md "6 JOB"). */
struct job_probe {
	uint64_t bytes;  /* sender: announced; receiver: at most */
	int fd;          /* sender: what is read, from its beginning; held. -1: the bytes are made up */
	bool is_to_disk; /* receiver: written to a partial that never gets a name; else dropped */
};

struct job_callbacks {
	void (*on_entry)(void *ctx, const struct job_entry *e);
	/* A source that could not be looked at or merged; sender's end only. */
	void (*on_problem)(void *ctx, const char *path, unsigned source, haul_status code);
	/* A move: it stays at the source, and why; either end. `path` as job_entry's; the text is untrusted. NULL is
	 * fine. */
	void (*on_kept)(void *ctx, const char *path, bool is_file, haul_status code, const char *text);
	/* A choice and its reason, one line; NULL is fine. */
	void (*on_explain)(void *ctx, const char *text);
	/* A lane is lost, and when both ends know of it its place is vacant (agent/lane_set.h); NULL is fine. */
	void (*on_lane_lost)(void *ctx, const struct lane_loss *loss);
	void (*on_lane_vacant)(void *ctx, unsigned number);
	/* Exactly once: the end. After HAUL_OK the link has been finished; after a failure it is still open or gone. */
	void (*on_end)(void *ctx, haul_status st, const struct haul_fault *fault);
};

struct job_config {
	uv_loop_t *loop;
	struct mailbox *mailbox;   /* of the loop; delivers mails (mail_deliver_all) */
	struct control_link *link; /* borrowed: the owner closes it after on_end */
	enum job_verb verb;
	uint32_t flags; /* enum job_flags */
	uint64_t modify_window_ns;
	unsigned lanes, lanes_most;   /* to begin with; at most, when more join */
	bool renews_lanes;            /* client: lost lanes are begun anew (lane_set_renew) by the owner */
	struct lane_job lane;         /* role, callbacks and queue are filled in by the job */
	const char *scratch_dir;      /* held */
	const char *const *move_tops; /* sender of a move: see move_eraser.h; held, NULL: none */
	enum direct_mode direct;
	enum policy_order order;          /* sender: of files within the window */
	uint64_t run_bytes;               /* sender: of one kind before the other has its turn; 0: a block each */
	struct job_probe probe;           /* verb JOB_PROBE */
	unsigned attribute_kinds;         /* sender: enum attribute_kind of what it reads and announces */
	const struct choice_spec *choice; /* held; NULL: everything */
	uint32_t choice_flags;            /* enum choice_flags: those of the receiver, and how sources land */
	struct job_callbacks cb;
	void *ctx;
};

/* How the job drives its disks; lanes and length of blocks are those that both ends agreed on, and the caller's. */
void job_follow_policy(struct job_config *cfg, const struct policy *p, bool is_sender);

/* The job's line in the trace, if there is one; its number there. */
unsigned job_trace(const struct job_config *cfg, bool is_source);

enum {
	JOB_WINDOW_RECORDS = 32768,         /* manifest records a receiver grants in advance */
	JOB_WINDOW_BYTES = 8 * 1024 * 1024, /* of MANIFEST frames */
	JOB_BATCH_RECORDS = 1024,           /* of one message */
	JOB_OPEN_FILES = 32,                /* big files in work at once */
	JOB_OWED_MAX = 8192,                /* frames of big files that the sender waits to hear of */
	JOB_HAD_LEAVES_MAX = 1 << 23,       /* of all files that a receiver goes on with: 8 TiB */
};

#endif
