/*
 * Inside of a receiver, shared by receiver.c (life and end), receiver_manifest.c (records in), receiver_data.c (grants,
 * what the lanes bring), receiver_lanes.c (lanes that come and go), receiver_kept.c (what goes on from an earlier job),
 * receiver_basis.c (what a file that is there has of it),
 * receiver_again.c (what changes), receiver_finish.c (commit, result), receiver_look.c (the end of a move) and
 * receiver_out.c (messages out). Main loop only.
 */
#ifndef HAUL_AGENT_RECEIVER_PARTS_H
#define HAUL_AGENT_RECEIVER_PARTS_H

#include "agent/commit.h"
#include "agent/eraser_proof.h"
#include "agent/index_map.h"
#include "agent/landing_notes.h"
#include "agent/receiver.h"
#include "agent/store.h"
#include "engine/beneath.h"
#include "engine/entry_digest.h"

/*
 *  RUNNING --all announced, every entry has its result--> CLOSING --lanes ended--> AGREEING --DONE both ways--> ENDED
 *     +---------------- fault, stop ------------------------+------------------------+--> STOPPING --all gone--> ENDED
 */
enum receiver_state { RECEIVER_RUNNING, RECEIVER_CLOSING, RECEIVER_AGREEING, RECEIVER_STOPPING, RECEIVER_ENDED };

enum {
	RECEIVER_HELD_MAX = JOB_WINDOW_RECORDS / 2, /* they give no credit back */
	RECEIVER_REPAIRS_MAX = 3,                   /* times an entry's wrong leaves are asked for again */
	RECEIVER_PATH_BYTES_MAX =
	    256 * 1024 * 1024, /* of entries in work: deep in a tree, a short record is a long path */
	RECEIVER_ATTRIBUTE_BYTES_MAX = 64 * 1024 * 1024, /* of all entries in work, when a directory comes */
};

/* What goes out with the next turn of the loop. Arrays grow with the window and no further. */
struct receiver_out {
	uv_prepare_t prepare;
	struct want *wants;
	size_t want_count, want_cap;
	struct entry_result *results;
	size_t result_count, result_cap;
	char **result_texts;     /* owned details, parallel to results, NULL entries */
	struct grant **releases; /* of entries that are RELEASING; held by some lane until it is told */
	size_t release_count, release_cap;
	struct ack *acks;
	size_t ack_count, ack_cap;
	uint64_t credit_records, credit_bytes;
	uint32_t lost; /* bit n: LANE_LOST is to be said of lane n */
	uint32_t lost_epochs[LANES_MAX];
};

struct receiver {
	struct receiver_config cfg;
	struct job_config *job; /* = &cfg.job */
	enum receiver_state state;
	struct place *place;
	struct placed_files *placed; /* owned; NULL: what files were called before does not count */
	struct mail save;            /* of it, to the store's thread */
	struct store store;
	struct commit commit;
	bool threads_run;
	struct lane_set lanes;
	bool lanes_ready;
	struct index_map entries;    /* index -> recv_entry, until the result */
	uint64_t path_bytes;         /* of all paths in them */
	uint64_t attribute_bytes;    /* of all attributes in them */
	struct dir_node *root;       /* of the job */
	struct dir_node *above;      /* where an entry for the root itself is; the root is announced in nothing */
	struct dir_node **open_dirs; /* the stack of directories that are being announced; [0] is the root */
	size_t open_count, open_cap;
	struct choice *choice;       /* of a pull with a list: which of its paths have come; else NULL */
	struct choice *store_choice; /* of a comparison, the store's: what the source has left out; else NULL */
	bool manifest_ended;
	uint64_t announced;
	struct mirror *mirror; /* of a sync; else NULL */
	bool mirror_began, mirror_runs;
	const char **renamed; /* owned array: for the mirror */
	size_t renamed_count, renamed_cap;
	bool mirror_is_troubled; /* something could not be written */
	struct list held;        /* until the mirror is done */
	size_t held_count;
	size_t waiting_dirs; /* entries that only wait for what is in them */
	size_t mirror_told;  /* of its calls, not yet off our hands */
	struct list waiting; /* big files whose turn has not come */
	unsigned modes_told; /* --explain: what has been said, see explain_mode() */
	bool clones_told;    /* --explain: that files are cloned */
	unsigned open_files;
	uint64_t small_due;     /* small files wanted and not yet arrived */
	struct list grants_due; /* entries to be granted and wanted with the next flush */
	struct list haves_due;  /* entries of which something is there: to be told before they are granted */
	unsigned bases_told;    /* --explain: files of which it was said how much is there in another */
	bool kept_told;         /* --explain: that a file goes on */
	bool has_kept;          /* the partials of a job that stops are with the commit thread, or were */
	unsigned in_threads;    /* entries with store or commit */
	unsigned dir_ends;      /* with the store */
	struct receiver_out out;
	bool out_closed;
	uint64_t moved_seen[LANES_MAX]; /* lane_moved() at the last ALIVE */
	uint64_t alive_ns;              /* when it was */
	uint64_t closing_ns;            /* CLOSING: since when */
	struct job_digest *digest;
	struct job_totals totals;
	uint64_t cpu_at_start_ms;
	haul_status why;
	struct haul_fault fault;
	bool own_end_sent, peer_end_seen, has_agreed, done_sent;
	struct receiver_move {
		struct landing_notes *landings; /* owned; NULL: no move */
		bool has_ended;                 /* the notes are complete */
		struct receiver_look *look;     /* owned; the LOOK in hand, the store thread's until is_looked */
		bool is_looked;
		uint64_t leaves; /* as the last MOVED said */
		/* the store thread's */
		struct parent_cache parents;
		unsigned apart_of; /* which of them has been looked at; 0: none */
		haul_status apart;
		struct eraser_synced synced;
	} move;
	struct msg_job_end peer_end;
	struct mail farewell;
};

/* receiver.c */
void receiver_fail(struct receiver *r, haul_status st, const struct haul_fault *fault);
void receiver_check_end(struct receiver *r);
void receiver_explain(void *owner, const char *text);

/* receiver_manifest.c */
void receiver_manifest(struct receiver *r, const struct msg_manifest *m);
void receiver_on_dir_end(struct receiver *r, struct dir_node *d, haul_status st, char **surplus, size_t count);
/* Of one reference; NULL: no memory. */
struct dir_node *dir_node_new(struct dir_node *parent, uint64_t index, const char *path);
void dir_node_drop(struct dir_node *d);
void recv_entry_free(struct recv_entry *e);
void receiver_settle(struct recv_entry *e); /* the entry no longer holds up its directory */

/* receiver_data.c */
void receiver_on_looked(struct recv_entry *e);
void receiver_on_opened(struct recv_entry *e);
void receiver_grant_due(struct receiver *r); /* grant and want what has gathered; before the flush */
void receiver_next_files(struct receiver *r);
void receiver_on_report(void *owner, struct lane_report *report);
void receiver_failures(struct receiver *r, const struct msg_failed *m);
void receiver_release_failed(struct recv_entry *e); /* the lanes let go of it, then it fails */
void receiver_release_put_off(struct recv_entry *e);

void receiver_grant_soon(struct recv_entry *e);
void receiver_all_released(struct recv_entry *e); /* no lane holds its grant any more */
void receiver_tree_is_full(struct recv_entry *e);

/* receiver_lanes.c */
haul_status receiver_on_lane_started(void *owner, struct lane *l); /* it gets what the others were granted */
void receiver_on_lane_lost(void *owner, const struct lane_loss *loss);
void receiver_on_say_lost(void *owner, unsigned number, uint32_t epoch);
void receiver_on_lane_vacant(void *owner, unsigned number);
void receiver_tell_lost(struct receiver *r); /* the acknowledgements are out */
void receiver_peer_lost_lane(struct receiver *r, const struct msg_lane_lost *m);

/* receiver_kept.c */
void receiver_go_on(struct recv_entry *e);    /* opened, with leaves that are there: tell them, then want the others */
void receiver_tell_haves(struct receiver *r); /* as far as the link takes it */
haul_status receiver_want_rest(struct recv_entry *e); /* WANT for what is not there */
void receiver_compared_kept(struct recv_entry *e, const struct lane_report *rep);
void receiver_fetch_rest(struct recv_entry *e); /* all compared, and released */
void receiver_written(struct recv_entry *e, const struct lane_report *rep);
void receiver_note_late(struct recv_entry *e, const struct lane_report *rep); /* the job is stopping */
/* A last checkpoint, then its partial is left to a later job, or state; counted in in_threads. HAUL_NO_MEMORY */
haul_status receiver_keep(struct recv_entry *e);
void receiver_keep_all(struct receiver *r); /* nothing is with a lane any more */

/* receiver_basis.c */
bool receiver_want_samples(struct recv_entry *e); /* false: it is too short for samples, all is to be wanted */
/* Of one that is compared with its basis; true: it is another file. */
bool receiver_samples_differ(struct recv_entry *e, const struct lane_report *rep);
void receiver_basis_done(struct recv_entry *e); /* all compared that will be, and released: the basis is closed */

/* receiver_again.c */
void receiver_put_off(struct receiver *r, const struct msg_put_off *m);
void receiver_changed(struct receiver *r, const struct msg_changed *m);
bool receiver_put_off_failed(struct recv_entry *e, haul_status st);   /* FAILED; false: it is not put off */
void receiver_set_sparse(struct recv_entry *e, uint32_t entry_flags); /* the state's that is announced */
void receiver_rest(struct recv_entry *e);                             /* put off, and no lane has it */
void receiver_has_rested(struct recv_entry *e);                       /* nor a thread */

/* receiver_mirror.c */
haul_status receiver_mirror_open(struct receiver *r, struct haul_fault *fault); /* if the job is a sync */
/* Everything else is done: whether the end has to wait for deletions, which begin with the first call. */
bool receiver_mirror_holds(struct receiver *r);
void receiver_mirror_doubt(struct receiver *r, haul_status st); /* an entry has failed at this end */
void receiver_hold(struct recv_entry *e);                       /* until what stands in its way is gone */
/* What lies under that path (held by `placed`) has landed under another name. */
void receiver_mirror_renamed(struct receiver *r, const char *path);
void receiver_mirror_taken(struct receiver *r); /* results have been flushed */

/* receiver_finish.c */
void receiver_await_contents(struct recv_entry *e, bool waits); /* a directory: until all in it is settled */
void receiver_entry_failed(struct recv_entry *e, haul_status st, bool here);
void receiver_released(struct recv_entry *e);
void receiver_drop_content(
    struct recv_entry *e); /* a failed one whose grant is gone: what has arrived of it goes too */
void receiver_commit(struct recv_entry *e, enum commit_kind kind);
void receiver_on_committed(struct recv_entry *e);
void receiver_close_slot(struct recv_entry *e); /* the next big file may be opened */
void receiver_result(struct recv_entry *e);     /* the end of an entry; it may be freed */

/* receiver_look.c */
bool receiver_is_move(const struct receiver *r);
haul_status receiver_look_open(struct receiver *r, struct haul_fault *fault);
void receiver_look_free(struct receiver *r);
void receiver_note_landing(struct receiver *r, const struct recv_entry *e); /* with its result */
void receiver_look(struct receiver *r, const struct msg_look *m);
void receiver_look_writable(struct receiver *r);
void receiver_moved(struct receiver *r, const struct msg_moved *m);

/* receiver_out.c */
haul_status receiver_out_open(struct receiver *r);
void receiver_out_close(struct receiver *r, uv_close_cb closed);
void receiver_out_free(struct receiver *r);
void out_want(struct receiver *r, const struct want *w);
void out_result(struct receiver *r, const struct entry_result *result, char *text /* taken, or NULL */);
void out_ack(struct receiver *r, const struct ack *a);
void out_release(struct receiver *r, struct grant *g);
void receiver_release_due(struct receiver *r); /* tell the lanes what they are to let go of; also before the flush */
bool out_say(struct receiver *r, const struct message *m); /* one message; false: the link is full, or the job failed */
void receiver_flush(struct receiver *r);
bool receiver_out_is_empty(const struct receiver *r);

#endif
