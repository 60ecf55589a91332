/* What a choice (choice.h) protects at the destination: store thread. */
#ifndef HAUL_AGENT_STORE_CHOICE_H
#define HAUL_AGENT_STORE_CHOICE_H

#include "agent/store.h"

/* A name that only the destination has. */
struct surplus {
	const char *dir; /* path of its directory below the job's root; "": the root */
	int dir_fd;      /* the same; borrowed */
	const char *name;
	bool is_blind; /* the source's directory could not be read whole */
};

/* Whether the source has left it out by its path, or would have. */
bool store_choice_protects(const struct store *s, const struct surplus *at, bool is_directory);

/* What it is by `d_type` of a listing, or by looking where that does not tell. */
bool store_choice_is_directory(int dir_fd, const char *name, unsigned char d_type);

/*
 * Of a sync: note it for deletion; of a directory in which something is protected only the rest, piece by piece, so
 * that what filters leave out is never deleted with what holds it.
 *
 * facts  of it; it is not protected itself
 * HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status store_choice_note(const struct store *s, const struct surplus *at,
					    const struct entry_facts *facts);

/* Whether the choice's flags leave what is there, or that nothing is, as it is: the entry has its verdict then. */
bool store_lets_stay(const struct store *s, struct recv_entry *e);

#endif
