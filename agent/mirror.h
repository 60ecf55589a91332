/*
 * What a sync deletes: entries that only the destination has, noted directory by directory while the source is
 * announced, counted and weighed against the guards when everything else is durable, and only then removed.
 *
 *   mirror_note() …  ──► mirror_run() ──► refused: the first ten are told, nothing goes
 *                              +──► a dry run: all are told
 *                              +──► each removed, if it still is what was noted; its directory synced, with its time
 *
 * Nothing is read into memory but what is in hand: notes are in a scratch file. Names that mirror_protects() stay
 * wherever they are met, and so does what is mounted.
 */
#ifndef HAUL_AGENT_MIRROR_H
#define HAUL_AGENT_MIRROR_H

#include "agent/home.h"
#include "agent/mail.h"
#include "peer-protocol/message.h"

enum { MIRROR_TOLD_WHEN_REFUSED = 10 };

/* How many deletions are too many. */
struct mirror_limit {
	enum delete_rule rule; /* DELETE_NONE: this side says nothing */
	uint64_t most;         /* DELETE_COUNT: entries; DELETE_PERCENT: of those that are there */
};

struct mirror_totals {
	enum delete_refusal refusal;
	uint64_t surplus; /* entries that only the destination has */
	uint64_t there;   /* entries there, before anything goes */
	uint64_t deleted, deleted_files;
	uint64_t left; /* were to go and stay; each was told */
};

struct mirror_config {
	int root_fd;                    /* the job's destination directory; held */
	const char *scratch_dir;        /* held */
	const struct home *home;        /* whose shares never go; held; NULL: none */
	struct mirror_limit asked, own; /* of whoever runs the sync; of this end */
	bool is_dry;
	bool keeps_root_time; /* the root's is the source's, too */
	struct mailbox *main;
	void *ctx;
	/* On the main loop. A path that goes, would go, or stays for that reason (HAUL_GUARD: because all do). */
	void (*on_doomed)(void *ctx, const char *path, enum entry_kind kind, haul_status st);
	/* On the main loop, once after mirror_run(). A status that failed: the rest was not looked at. */
	void (*on_end)(void *ctx, const struct mirror_totals *totals, haul_status st, const struct haul_fault *fault);
};

struct mirror;

/* Given: mirror_free(). HAUL_NO_MEMORY, HAUL_IO (scratch file). */
HAUL_MUST_USE haul_status mirror_new(const struct mirror_config *cfg, struct mirror **ret_mirror,
				     struct haul_fault *fault);

/* End the thread; what it is removing just now is ended in good order. */
void mirror_free(struct mirror *m);

/* Whether what has this name is never deleted: what systems and storage boxes put into directories, and haul's own. */
bool mirror_protects(const char *name);

/* The next four: one thread, until mirror_run(). An announced entry is there. */
void mirror_saw(struct mirror *m);

/* `name` in `dir` (below the root) is only at the destination. is_blind: or only seems so, since the source could not
 * read that directory whole. */
void mirror_note(struct mirror *m, const char *dir, const char *name, const struct entry_facts *facts, bool is_blind);

/* A name there could not be looked at, or not be noted: nothing may be deleted. */
void mirror_note_lost(struct mirror *m, haul_status st);

/* What else speaks against any deletion, and what does not speak for one. */
struct mirror_doubts {
	/* Paths below the root whose content has another name by now: going, they count against no limit. Sorted by
	 * strcmp(), no two equal; held until on_end. */
	const char *const *renamed;
	size_t renamed_count;
	bool is_empty;    /* the source has nothing */
	bool is_other;    /* it lies on another file system than last time */
	bool is_troubled; /* something could not be written here */
};

/* Main loop: weigh, then delete. */
void mirror_run(struct mirror *m, const struct mirror_doubts *doubts);

/* Main loop: that many calls of on_doomed are off the receiver's hands; more of them may come. */
void mirror_taken(struct mirror *m, size_t count);

/* Main loop: it is not wanted any more; on_end comes soon, if mirror_run() was called. */
void mirror_stop(struct mirror *m);

/* Whether so many deletions are too many; `surplus` of `there`. */
bool mirror_limit_is_passed(const struct mirror_limit *limit, uint64_t surplus, uint64_t there);

#endif
