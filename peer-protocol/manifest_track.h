/*
 * Keeps account of a manifest as it passes, on either side: is it in canonical order, does it name nothing unknown?
 *
 * Known are the number of entries and, for each directory that is still open, its index, how many entries it has had
 * and the name of the last one. Memory is thus bounded by depth: at most HAUL_DEPTH_MAX + 1 directories, about 1.1 MiB,
 * and each level is paid for by a record. Because names of siblings ascend, none comes twice. Thread: the session's.
 */
#ifndef HAUL_PROTOCOL_MANIFEST_TRACK_H
#define HAUL_PROTOCOL_MANIFEST_TRACK_H

#include "engine/base/fault.h"
#include "peer-protocol/message.h"

struct open_directory;

struct manifest_track {
	struct open_directory *open; /* owned; [0] is the job's root */
	size_t depth, cap;           /* directories open, the root included; room in `open` */
	uint64_t entries;            /* announced: the next index */
	uint64_t owners;             /* announced: the next index */
	uint64_t file_bytes;         /* sum of the sizes of regular files */
	bool is_begun;               /* the root has been opened */
	bool has_root_entry;         /* entry 0 is the root itself */
};

void manifest_track_open(struct manifest_track *t);
void manifest_track_close(struct manifest_track *t);

/*
 * HAUL_NOT_ANNOUNCED   an index that is not the next one, a parent that is not the directory now open, a link to a
 * later entry, an owner without a name, a problem in a directory that is not open. HAUL_BAD_VALUE       names out of
 * order, too deep, a directory's count that does not agree. HAUL_OVERFLOW, HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status manifest_track_records(struct manifest_track *t, const struct msg_manifest *m,
						 struct haul_fault *fault);

/* Indices of owners ascend by one. HAUL_NOT_ANNOUNCED otherwise. */
HAUL_MUST_USE haul_status manifest_track_owners(struct manifest_track *t, const struct msg_owners *m,
						struct haul_fault *fault);

/* Every directory but the root must have ended, and the sums must agree. HAUL_BAD_VALUE otherwise. */
HAUL_MUST_USE haul_status manifest_track_end(struct manifest_track *t, const struct msg_manifest_end *m,
					     struct haul_fault *fault);

#endif
