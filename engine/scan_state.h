/* A scan's state, and how it gets at what a source has: paths, handles, facts. Internal to the engine (scan*.c). */
#ifndef HAUL_ENGINE_SCAN_STATE_H
#define HAUL_ENGINE_SCAN_STATE_H

#include "engine/attribute_read.h"
#include "engine/scan_walk.h"

enum { SCAN_BUFFER_BYTES = 64 * 1024 };

struct scan_root {
	int root_fd;   /* held */
	char *path;    /* owned */
	char *landing; /* owned; NULL: contents land at the root */
	enum link_rule links;
	size_t landing_len; /* bytes of the landing path that `path` stands for */
};

struct scan {
	struct scan_root *sources; /* owned */
	unsigned source_count;
	struct scan_frame **stack; /* owned, with the frames */
	unsigned depth, stack_cap;
	uint64_t next_index;
	bool is_started;
	bool is_flushing; /* pending directories are told, the uppermost first */
	struct scan_choice choice;
	bool restores_aside, tells_root;
	struct scan_handles handles;
	struct text path; /* landing path of the item */
	struct text source_path;
	char *link_target; /* owned; of the last item, like the next */
	struct attributes *attributes;
	bool attributes_left_out;
	struct attribute_reader reader;
	char buffer[SCAN_BUFFER_BYTES] __attribute__((aligned(16)));
};

/* Copy a source, its landing name checked. What is set is freed by scan_root_close(). */
HAUL_MUST_USE haul_status scan_root_open(struct scan_root *to, const struct scan_source *from,
					 struct haul_fault *fault);
void scan_root_close(struct scan_root *r);

/* s->path becomes the frame's path, or that of a name in it. */
HAUL_MUST_USE haul_status scan_set_path(struct scan *s, const struct scan_frame *f, const char *name);

/* s->source_path becomes what s->path is below the source's root. */
HAUL_MUST_USE haul_status scan_set_source_path(struct scan *s, unsigned source);

/* The handle of a frame's directory (borrowed until the next call); both paths become its own. */
HAUL_MUST_USE haul_status scan_dir_handle(struct scan *s, const struct scan_frame *f, struct scan_dir *d, int *ret_fd);

/*
 * Facts of name `i` of the frame; s->link_target if it is a link, *ret_len bytes long.
 *
 * ret_dir_failed   true: its directory cannot be had again; else untouched.
 */
HAUL_MUST_USE haul_status scan_look_at(struct scan *s, struct scan_frame *f, size_t i, struct entry_facts *ret_facts,
				       size_t *ret_len, bool *ret_dir_failed);

/*
 * Whether name `i` of the frame is taken, s->path being set to it; without a choice it is. What could not be looked at
 * is left if it would be left both as a directory and as anything else: a name that is filtered out is no problem.
 *
 * facts      NULL: it could not be looked at
 * ret_state  for what lies in it
 * Fails as the choice does.
 */
HAUL_MUST_USE haul_status scan_ask_choice(struct scan *s, const struct scan_frame *f, size_t i,
					  const struct entry_facts *facts, enum scan_take *ret_take,
					  uint32_t *ret_state);

#endif
