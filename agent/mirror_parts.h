/* Inside of a mirror: mirror.c (notes, guards), mirror_run.c (its thread: counting, telling, deleting). */
#ifndef HAUL_AGENT_MIRROR_PARTS_H
#define HAUL_AGENT_MIRROR_PARTS_H

#include "agent/mirror.h"
#include "agent/note_file.h"
#include "agent/shares.h"
#include "engine/base/entry.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum { MIRROR_TOLD_AHEAD = 4096 }; /* calls of on_doomed that are not yet off the receiver's hands */

struct mirror {
	struct mirror_config cfg;
	struct worker worker;
	struct mail begin, end;
	_Atomic bool stop;
	sem_t room; /* MIRROR_TOLD_AHEAD less what was told and is not taken */
	/* Whoever notes, then the thread's. */
	struct note_file *notes; /* owned; of each: its facts, the directory, the name */
	struct mirror_totals totals;
	bool is_blind;    /* some of it is noted because the source could not be read whole */
	haul_status lost; /* why the notes are not whole */
	struct mirror_doubts doubts;
	uint64_t renamed; /* of totals.surplus */
	/* The thread's. */
	struct share_list shares; /* while it runs */
	char *dir;                /* owned; whose handle dir_fd is */
	int dir_fd;               /* owned; -1: none */
	bool is_dirty;            /* something in it has gone */
	struct timespec dir_time; /* its own, before that */
	haul_status status;
	struct haul_fault fault;
};

enum delete_refusal mirror_weigh(const struct mirror *m);
void mirror_deliver_run(struct mail *mail, void *ctx);

#endif
