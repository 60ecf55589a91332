/*
 * What the sending lanes of a job have to read and send: ranges of big files and packs of small ones.
 *
 * Filled by the main loop against what the receiver wants, emptied by the lanes. Both lists are served in turn and in
 * order, so small files never wait behind a big one, and a big one is spread over all lanes. Locked like a mailbox.
 */
#ifndef HAUL_AGENT_BLOCK_QUEUE_H
#define HAUL_AGENT_BLOCK_QUEUE_H

#include "engine/base/list.h"
#include "engine/disk_file.h"
#include "engine/follow.h"
#include "peer-protocol/message.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * One attempt to send a big file, or some of its leaves. Shared: the main loop holds one reference until it hears that
 * all is read or failed, each block in work another one.
 */
struct send_file {
	struct list link;
	_Atomic unsigned refs;
	uint64_t entry;
	uint32_t attempt;
	bool is_digests_only; /* DIGESTS frames: the receiver compares */
	bool is_repair;
	bool is_again;   /* it has been sent before, over a lane that was lost */
	bool is_sparse;  /* worth asking for holes */
	uint64_t place;  /* where on its disk it begins (engine/file_place.h); for queues in that order */
	bool is_made_up; /* a probe's: whatever the block's memory holds is sent; the descriptor is -1 */
	struct disk_file file;
	uint64_t size; /* as announced; the leaves are counted from it */
	/* Still to hand out: the rest of the range in turn, then the others. Guarded by the queue's lock. */
	uint64_t next_leaf, end_leaf;
	struct leaf_range *others; /* owned; NULL: none */
	size_t other_count, other_at;
	bool is_begun;
	_Atomic uint64_t unread_leaves; /* whoever takes it to 0 checks that the file has not changed */
	_Atomic bool has_failed;
};

struct send_pack_item {
	uint64_t entry;
	uint32_t attempt;
	int root_fd;              /* of the source; borrowed from the job */
	char *path;               /* below it; owned */
	enum link_rule links;     /* of the source */
	struct entry_facts facts; /* as announced */
};

struct send_pack {
	struct list link;
	uint64_t bytes; /* announced sizes together */
	unsigned count;
	unsigned cap;
	struct send_pack_item items[];
};

struct block_queue {
	pthread_mutex_t lock;
	struct list files, packs;
	struct list returned; /* struct returned_work: goes out before all other files */
	bool pack_is_next;
	bool is_by_place;   /* files in the order of their place, in one direction and around, each whole */
	uint64_t place_now; /* of the file in turn, or the last one */
	uint64_t run_bytes; /* of one list before the other has its turn; 0: one unit of work each */
	uint64_t run_left;
	uint32_t block_leaves; /* leaves of a full block */
};

/* A unit of work for a lane: exactly one of file and pack is set. */
struct send_work {
	struct send_file *file; /* one reference of it is given */
	uint64_t first_leaf;
	uint32_t leaf_count;
	struct send_pack *pack; /* given: send_pack_free() */
};

HAUL_MUST_USE haul_status block_queue_open(struct block_queue *q, uint32_t block_bytes);

/*
 * For a spindle. Before anything is added.
 * is_by_place   of files that wait, the one that lies next behind the last one comes first.
 * run_bytes     as struct block_queue has it.
 */
void block_queue_set_order(struct block_queue *q, bool is_by_place, uint64_t run_bytes);
void block_queue_close(struct block_queue *q); /* frees what is left in it */

/* What of the file is to be sent: at least one range, none of them empty. Copied. Before it is queued. */
HAUL_MUST_USE haul_status send_file_set_ranges(struct send_file *f, const struct leaf_range *ranges, size_t count);

/* Both are taken. Any thread; wake the lanes afterwards. */
void block_queue_add_file(struct block_queue *q, struct send_file *f);
void block_queue_add_pack(struct block_queue *q, struct send_pack *p);

/*
 * What was taken is not going to be sent by who took it: somebody else has it next. The file's reference, or the pack,
 * is taken. A range that was counted as read has to be counted as unread again, before. HAUL_NO_MEMORY: nothing was
 * changed; not for a pack. Any thread; wake the lanes afterwards.
 */
HAUL_MUST_USE haul_status block_queue_return(struct block_queue *q, const struct send_work *work);

/* False: nothing to do now. Any thread. */
bool block_queue_take(struct block_queue *q, struct send_work *ret_work);

/* A send_file with one reference, the caller's; the descriptor in `file` is taken. NULL without memory. */
struct send_file *send_file_new(const struct disk_file *file);
void send_file_drop(struct send_file *f); /* closes the file with the last reference */

struct send_pack *send_pack_new(unsigned cap);
void send_pack_free(struct send_pack *p);

#endif
