/*
 * One open regular file as the engine reads or writes it: descriptor, whether direct, and the alignment it asks for.
 *
 * May be shared by the lanes of a job: after opening only `is_direct` changes (to false, once).
 */
#ifndef HAUL_ENGINE_DISK_FILE_H
#define HAUL_ENGINE_DISK_FILE_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

#include <stdatomic.h>

enum direct_mode { DIRECT_AUTO, DIRECT_ALWAYS, DIRECT_NEVER };

/* Why a file is read or written through the page cache. */
enum buffered_reason {
	BUFFERED_NOT,          /* it is direct */
	BUFFERED_ASKED,        /* DIRECT_NEVER */
	BUFFERED_SMALL,        /* auto: below DISK_FILE_DIRECT_MIN bytes */
	BUFFERED_OPEN_REFUSED, /* the file system has no O_DIRECT */
	BUFFERED_IO_REFUSED,   /* EINVAL and the like at a request, the first or a later one */
	BUFFERED_MEMORY_FS,    /* tmpfs, ramfs: nothing to bypass */
	BUFFERED_IO_FAILED,    /* EIO at a direct request */
	BUFFERED_REASONS,
};

enum {
	DISK_FILE_DIRECT_MIN = 4 * 1024 * 1024,
	DISK_FILE_ALIGN_MAX = 64 * 1024, /* a file that asks for more is not direct: blocks have no room to pad */
};

struct disk_file {
	int fd;                /* owned */
	uint32_t offset_align; /* bytes, power of two, 4 KiB .. 64 KiB; 1 when opened buffered */
	uint32_t memory_align; /* bytes, power of two; 1 when opened buffered */
	bool is_align_known;   /* the file system told it; else it is a guess that is tried */
	_Atomic bool is_direct;
	_Atomic int reason;       /* enum buffered_reason */
	struct entry_facts facts; /* of the descriptor when opened */
};

/*
 * Take an open descriptor of a regular file and set direct I/O by mode, size and file system (statx DIOALIGN where the
 * kernel tells, else 4096).
 *
 * fd         taken on success, still the caller's on failure.
 * size_hint  bytes that will be read or written.
 * HAUL_WRONG_KIND   not a regular file. HAUL_UNSUPPORTED: DIRECT_ALWAYS and the file system refuses.
 */
HAUL_MUST_USE haul_status disk_file_open(struct disk_file *f, int fd, enum direct_mode mode, uint64_t size_hint,
					 struct haul_fault *fault);

/*
 * Clear direct I/O after the file system refused or failed a request: the file stays buffered. Called by the engine.
 * Thread: any; several at once are fine.
 */
HAUL_MUST_USE haul_status disk_file_make_buffered(struct disk_file *f, enum buffered_reason why);

/* Close the descriptor; the status of close(2) matters after writing. */
haul_status disk_file_close(struct disk_file *f);

/* "direct", or "buffered (file system has no direct I/O)". Static storage. */
const char *disk_file_mode_text(const struct disk_file *f);
const char *buffered_reason_text(enum buffered_reason reason);

/* Whether a descriptor's file system keeps everything in memory (tmpfs, ramfs, hugetlbfs). */
bool disk_file_is_in_memory(int fd);

/* "direct, offsets aligned to 4096 and memory to 512 bytes", or as disk_file_mode_text(). Returns ret_text. */
const char *disk_file_text(const struct disk_file *f, char *ret_text, size_t cap);

#endif
