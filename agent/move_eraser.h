/*
 * What a move to another machine deletes at the source, after both ends have agreed and the destination is durable.
 *
 * While the job runs, entries that have landed are noted in a scratch file. Then a thread goes through them in batches:
 * it looks at each again, puts it aside (engine/aside.h), and gives the batch to the main loop, which asks the other
 * end whether what has landed is there all the same. What is gets deleted, all else is put back; each directory is
 * synced. Directories follow from below, in batches too, each with a private name in it instead, as far as they are
 * empty.
 *
 *   thread: look, put aside --batch--> main loop: LOOK ... LOOKED --codes--> thread: delete or put back, the next batch
 *
 * A batch belongs to whoever has it. When the job stops, what is aside is put back.
 */
#ifndef HAUL_AGENT_MOVE_ERASER_H
#define HAUL_AGENT_MOVE_ERASER_H

#include "agent/mail.h"
#include "engine/scan.h"
#include "peer-protocol/message.h"

#include <stdatomic.h>

struct move_eraser;
struct move_item;

/* An entry that has landed and is proven: durable now, or found equal by hash tree now. Borrowed for the call. */
struct move_landed {
	uint64_t entry;
	unsigned source;
	const char *source_path;  /* below that source's root handle */
	const char *path;         /* where it landed, below the job's root */
	struct entry_facts facts; /* when it was scanned: before it was read */
	struct haul_digest root;  /* files */
	bool is_new;              /* this job has written it; else it was found equal */
	bool was_told;            /* not all of it was read here: it is read before it goes */
	uint32_t lost;            /* enum entry_lost */
};

/* Something that stays. */
struct move_kept {
	uint64_t entry;
	bool is_file;
	haul_status code;
	char *path; /* owned, as the text; of where it landed */
	char *text; /* why */
};

/* Deleted so far. */
struct move_gone {
	uint64_t files, entries, bytes;
};

struct move_batch {
	struct mail mail;
	struct move_eraser *eraser;
	/* To ask about: none with is_over. codes are the main loop's, all are HAUL_CANCELLED to begin with. */
	uint8_t token[LOOK_TOKEN_BYTES];
	uint64_t entries[MESSAGE_LOOK_MAX];
	uint32_t codes[MESSAGE_LOOK_MAX];
	size_t count;
	/* What the last batch came to, and what is not even asked about. */
	struct move_kept *kept; /* owned */
	size_t kept_count, kept_cap;
	struct move_gone gone;
	bool is_over;
	haul_status status; /* with is_over; HAUL_CANCELLED when it was stopped */
	struct haul_fault fault;
	struct move_item *items; /* the thread's, one for each entry */
};

struct move_eraser_config {
	const char *scratch_dir;           /* held */
	const struct scan_source *sources; /* held, with their root handles */
	size_t source_count;
	/* Of sources that are a directory by their root handle: the path by which it goes itself. NULL: none do. Held.
	 */
	const char *const *tops;
	struct mailbox *main;
	void (*on_batch)(void *ctx, struct move_batch *b); /* main loop; answered with move_eraser_go_on() */
	void (*on_progress)(void *ctx, uint64_t leaves);   /* main loop: so many more have been read once more */
	void *ctx;
};

/* Given: move_eraser_free(). By errno, HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status move_eraser_new(const struct move_eraser_config *cfg, struct move_eraser **ret_eraser,
					  struct haul_fault *fault);
/* The thread, if there is one, has no batch any more. NULL is fine. */
void move_eraser_free(struct move_eraser *e);

/* Before move_eraser_start(). A failure is seen there. */
void move_eraser_note(struct move_eraser *e, const struct move_landed *landed);

/* Begin: on_batch follows. HAUL_IO: the notes could not be written, so everything stays. */
HAUL_MUST_USE haul_status move_eraser_start(struct move_eraser *e, struct haul_fault *fault);

/* The batch is given back with its codes; on_batch follows, with is_over at last. Main loop. */
void move_eraser_go_on(struct move_batch *b);

/* Nothing more is deleted: what is aside is put back with the next batch, which is the last. Any thread. */
void move_eraser_stop(struct move_eraser *e);

#endif
