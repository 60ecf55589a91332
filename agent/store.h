/*
 * The thread that looks at the destination: what stands where an entry wants to go, what has to be done about it, which
 * directories have to be made, and the partials of big files. Blocking calls only; one job's.
 */
#ifndef HAUL_AGENT_STORE_H
#define HAUL_AGENT_STORE_H

#include "agent/choice.h"
#include "agent/recv_entry.h"
#include "agent/root_rule.h"
#include "agent/store_owners.h"
#include "agent/store_room.h"
#include "engine/attribute_read.h"

struct mirror;
struct placed_files;

struct store_config {
	struct place *place; /* held; NULL: the destination does not exist (dry run) */
	int root_fd;
	enum job_verb verb;
	uint32_t flags; /* enum job_flags */
	uint64_t time_window_ns;
	enum direct_mode direct;
	bool may_clone;      /* entries with an origin may share its extents */
	bool has_far_source; /* content comes from elsewhere: what the version that is there has of it need not */
	bool has_owner;      /* what arrives belongs to whom the share says: the sender's owners are not kept */
	uint32_t umask;      /* taken off every mode */
	bool drops;          /* a probe that is written nowhere */
	bool mirrors_root;   /* of a sync: the root itself, not only what lands in it */
	enum root_rule root_rule;
	struct mirror *mirror;       /* of a sync: notes what only the destination has; held. NULL: no sync */
	int private_fd;              /* held; of the place, -1 with place NULL and no share */
	struct quota *quota;         /* held; of the sender's device. NULL: nothing is counted */
	struct placed_files *placed; /* where files may have another name; held; NULL: not known */
	struct choice *choice;       /* a comparison's, held: what the source has left out; NULL: nothing */
	uint32_t choice_flags;       /* enum choice_flags */
	struct mailbox *main;
};

enum { STORE_PAIRS_MAX = 16 };

struct store {
	struct worker worker;
	struct store_config cfg;
	_Atomic uint64_t rights;
	/* File systems between which nothing can be cloned; the thread's own. */
	struct {
		uint64_t from, to;
	} unclonable[STORE_PAIRS_MAX];
	unsigned unclonable_count;
	_Atomic uint64_t had_leaves; /* of the files that go on: the sender takes on no more than JOB_HAD_LEAVES_MAX */
	struct store_room room;
	struct store_owners owners;
	struct attribute_reader attributes; /* the thread's own; of all kinds that can be set here */
	/* After look and open: on the main loop. */
	void (*on_looked)(struct recv_entry *e);
	void (*on_opened)(struct recv_entry *e); /* partial or old file open, or e->code */
	/* The names are given. st: verify could not read the directory, or not all of it. */
	void (*on_dir_end)(struct receiver *r, struct dir_node *d, haul_status st, char **surplus, size_t count);
};

HAUL_MUST_USE haul_status store_start(struct store *s, const struct store_config *cfg, uint64_t rights,
				      struct haul_fault *fault);
void store_stop(struct store *s);

/* Post, with the next worker_send(): in manifest order. The entry is the store's until on_looked. */
void store_look(struct store *s, struct recv_entry *e);

/* The same way: open what the verdict needs, a partial for content, the old file for comparing. */
void store_open(struct store *s, struct recv_entry *e);

/* The entry is done: its leaves count no more. Main loop. */
void store_give_back(struct recv_entry *e);

/* And of its bytes in the quota no more than what is kept of it. */
void store_leave_quota(struct recv_entry *e);

/* And: everything in this directory has been looked at, find what only the destination has (verify, sync).
 * is_complete: all that the source has in it was announced. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status store_dir_end(struct store *s, struct receiver *r, struct dir_node *d, bool is_complete);

/* And: the source has that name in the directory, and leaves it out. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status store_left_out(struct store *s, struct dir_node *d, const struct text *name);

#endif
