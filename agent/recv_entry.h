/*
 * One announced entry on the receiving side, from its manifest record to its result.
 *
 *  LOOKING --> RESULT_READY (nothing to do, refused, dry run)
 *     |------> COMMITTING (link, metadata, directory: when all in it is settled)
 *     +------> WAITING --turn--> OPENING --granted--> ARRIVING --all there--> RELEASING --> COMMITTING --> RESULT_READY
 *                                                        +--differs: WAITING again, or the bytes of one leaf (verify)
 *                                                        +--kept leaves compared: OPENING again, for the others
 *  What the sender puts off goes through RELEASING and COMMITTING (its partial is left) to PUT_OFF, then LOOKING again.
 *  A failure in any of them ends in RELEASING (if granted), then COMMITTING as a discard (if there is a partial).
 *
 * Belongs to the main loop; while LOOKING, OPENING and COMMITTING it is the store's or the commit thread's.
 */
#ifndef HAUL_AGENT_RECV_ENTRY_H
#define HAUL_AGENT_RECV_ENTRY_H

#include "agent/grant.h"
#include "agent/mail.h"
#include "engine/follow.h"
#include "engine/hash_tree.h"
#include "peer-protocol/message.h"

enum recv_phase {
	RECV_LOOKING,
	RECV_WAITING,
	RECV_OPENING,
	RECV_ARRIVING,
	RECV_RELEASING,
	RECV_COMMITTING,
	RECV_PUT_OFF,
	RECV_DONE,
};

/* What the store thread found to be necessary. */
enum recv_verdict {
	VERDICT_RESULT,  /* nothing: outcome, code and changes are final */
	VERDICT_SMALL,   /* content, in a pack */
	VERDICT_BIG,     /* content, in blocks */
	VERDICT_DIGESTS, /* compare leaf digests first */
	VERDICT_COMMIT,  /* no content: link, metadata, directory */
	VERDICT_HELD,    /* a sync: until what stands in its way is deleted, then it is looked at again */
};

enum commit_kind {
	COMMIT_SMALL,
	COMMIT_BIG,
	COMMIT_LINK,
	COMMIT_DIRECTORY,
	COMMIT_META,
	COMMIT_DISCARD,
	COMMIT_PROBE, /* synced like a big file, then removed */
};

/* What follows when every lane has released the grant. */
enum after_release { AFTER_COMMIT, AFTER_FAILURE, AFTER_CONTENT, AFTER_BYTES, AFTER_RESULT, AFTER_KEPT, AFTER_PUT_OFF };

struct receiver;
struct store;
struct commit;

/* What an entry is read from, where its source is on this machine; held until the entry's result. */
struct entry_origin {
	struct source_place at;          /* path NULL: the source is elsewhere */
	const struct entry_facts *facts; /* as announced */
};

/* A directory of the manifest while it or anything in it is in work. */
struct dir_node {
	struct dir_node *parent; /* one reference; NULL for the job's root */
	uint64_t index;
	char *path;               /* below the job's root; "" = the root */
	unsigned refs;            /* main loop's: the stack, children, own entry */
	struct recv_entry *entry; /* its own; NULL for the root */
	unsigned unsettled;       /* entries in it that have neither a result nor a place in the commit queue */
	bool has_ended;           /* DIR_END came */
	bool is_told;             /* what of it is left out has been named */
	bool is_partial;          /* the source's choice left out names in it that only the source knows */
	/* the store thread's */
	bool is_missing;    /* not there: dry run and verify */
	bool is_held;       /* so is everything in it */
	haul_status broken; /* could not be made: so nothing in it can arrive */
	bool was_made;
	bool is_fresh;      /* made by us or meanwhile by another job: its name may not be on the medium yet */
	bool was_opened_up; /* we added write permission for ourselves */
	uint32_t old_mode;
	uint8_t room;        /* store_room.c: of the file system that its files go to */
	bool has_unsorted;   /* names, for a while */
	bool has_lost_names; /* there was no memory for all of them */
	char **names;        /* verify and sync: what was announced in it; owned */
	size_t name_count, name_cap, name_bytes;
};

struct recv_entry {
	struct receiver *receiver;
	struct store *store;
	struct commit *commit_thread;
	struct mail mail; /* through the threads */
	struct list link;
	enum recv_phase phase;
	uint64_t index;
	struct dir_node *dir;     /* it lies in; one reference */
	struct dir_node *node;    /* a directory's own; one reference */
	char *path;               /* below the job's root; owned, like the link target */
	struct entry_facts facts; /* as announced: kind, mode, size, mtime, owner; looked at: what of them it gets */
	bool is_sparse;
	bool is_mapped;                /* uid and gid are of this machine; before, indices of OWNERS */
	bool keeps_owner;              /* facts.uid and gid, each unless it is UINT32_MAX */
	bool is_read_by_root;          /* security.* and trusted.* are among its attributes */
	uint8_t attribute_kinds;       /* enum attribute_kind: those that are made as announced; none while 0 */
	uint32_t lost;                 /* enum entry_lost */
	struct attributes *attributes; /* owned; as announced, of these kinds; NULL: none */
	struct entry_origin origin;
	char *link_target;
	size_t link_target_len;
	/* by the store thread */
	enum recv_verdict verdict;
	enum commit_kind commit;
	struct entry_facts seen; /* what is there */
	bool has_seen;
	bool was_held;
	bool waits_for_contents; /* a directory, counted in waiting_dirs */
	bool may_replace;
	struct {                             /* store_room.c */
		uint64_t bytes, quota_bytes; /* counted, of its file system and of the quota */
		uint64_t kept_bytes;         /* that an earlier job has kept of it */
		bool is_counted;
	} room;
	bool may_set_meta; /* DIGESTS: mode and times, if the content proves equal */
	/* data */
	uint32_t attempt;
	struct grant *grant;
	enum after_release after;
	struct partial partial;
	bool was_cloned;      /* the partial shares the source's extents: nothing will come for it */
	struct disk_file old; /* DIGESTS, BYTES, or with has_basis: what is there; fd -1 when closed */
	struct hash_tree *tree;
	struct haul_digest root;
	bool has_root;
	uint64_t leaves_left;
	uint64_t first_bad; /* verify and checksum: first leaf that differs; UINT64_MAX: none */
	unsigned repairs;   /* times something of it had to be asked for again */
	/* a kept partial (receiver_kept.c) */
	uint8_t source_id[SOURCE_ID_BYTES]; /* of the state that is announced; zeros: none */
	bool compares_kept;                 /* it is of another source: its leaves are compared first */
	bool has_basis;                     /* they are those of `old`, a file that is there (store_basis.c) */
	unsigned samples_left;              /* leaves of it that are to be compared before all others */
	bool is_unlike;                     /* all leaves of `old` have been found to differ */
	uint64_t equal_leaves;              /* VERDICT_DIGESTS: of those that have been compared */
	bool is_renamed;                    /* all of it is as in that, which has another name */
	const char *basis_path;             /* held by the store: what it is called */
	struct leaf_map have;               /* leaves that are there, until the others are wanted; else closed */
	struct haul_digest *digests;        /* owned, with `have`: theirs */
	uint64_t told_to;                   /* HAVE has been said up to this leaf */
	struct leaf_piece *notes;           /* owned; written and not yet with a checkpoint */
	size_t note_count, note_cap;
	uint64_t noted_leaves, noted_ever;
	uint64_t quota_held;    /* bytes of it that count as held in the device's quota; whoever has the entry */
	bool has_budget;        /* its leaves count in store.had_leaves */
	haul_status peer_code;  /* the sender's failure, while a thread has the entry */
	uint64_t resumed_bytes; /* told with HAVE */
	uint64_t reused_bytes;  /* told with BASIS */
	uint64_t checkpoint_ns; /* when the last one was posted, or the partial opened */
	bool checkpoint_runs;
	/* a source that changes (receiver_again.c) */
	bool is_put_off, has_next;
	struct changed_entry next; /* has_next: what it has become */
	unsigned states;           /* that it was told in after the first */
	uint64_t moved_bytes;      /* that have arrived of the state it is in */
	/* the result */
	enum entry_outcome outcome;
	haul_status code;
	bool failed_here;
	uint32_t changes;
	bool has_offset;
	uint64_t offset;
	bool is_committed;
	bool counts_open; /* in the receiver's number of open big files */
	bool is_settled;  /* no longer counted in dir->unsettled */
};

/* What was known of leaves that are there: told, or of no use any more. Whoever has the entry. */
static inline void recv_entry_drop_have(struct recv_entry *e)
{
	leaf_map_close(&e->have);
	free(e->digests);
	e->digests = NULL;
	e->told_to = 0;
}

#endif
