/*
 * How a file arrives: written under a private name on the same file system, whole and synced, then renamed.
 *
 * A `place` is the destination of one job: its root handle and, below the root's `.haul/` (0700), one directory of the
 * job's own, held by a lock for as long as the job lives. Directories of jobs that died are removed when the next one
 * opens the place; an empty `.haul/` goes with the last job. Where `.haul/` will not do (another file system below the
 * root, a setgid or default-ACL directory, `.haul/` cannot be made), the partial lies in the target directory itself as
 * `.haul.<32 hex>.part`; dead ones there go after a day, when a job opens or finishes that directory. Every operation
 * is beneath the root handle (beneath.h). Blocking.
 *
 * A partial may be *kept*: it outlives its job, together with a record of the leaves that are on the medium
 * (leaf_record.h), and the next job with the same peer, root and path goes on with it. It lies in `.haul/partials/`, or
 * in the target directory as above; its name is a digest of peer, root and path, a lock says that a job has it. It goes
 * when nobody has touched it for PLACE_KEEP_DAYS, at once if it has no record.
 *
 * Thread: several at once may work in one place, each on partials of its own; only place_open() and place_close() are
 * alone.
 */
#ifndef HAUL_ENGINE_PARTIAL_H
#define HAUL_ENGINE_PARTIAL_H

#include "engine/attribute_write.h"
#include "engine/beneath.h"
#include "engine/disk_file.h"
#include "engine/leaf_record.h"
#include "engine/owner.h"

struct place;
struct attribute_reader;

/*
 * What something gets beside its content. Set in the order owner, attributes, mode, times.
 *
 * Of the facts only mode (07777 at most is used), mtime and, with keeps_owner, uid and gid count. The values below
 * leave alone what stands there; a new file then keeps 0600. nsec out of range otherwise is HAUL_BAD_VALUE. What a file
 * system cannot store on a new file is left out without an error: place_stat() tells.
 */
struct place_meta {
	const struct entry_facts *facts;     /* borrowed */
	const struct attributes *attributes; /* borrowed; it has these alone of their `kinds` then; NULL: none */
	unsigned kinds;                      /* enum attribute_kind; of others it keeps what it has */
	bool has_holes;   /* of a small file whose source has some: whole pages of zeros become holes */
	bool keeps_owner; /* it gets the facts' uid and gid, but where they are UINT32_MAX */
	uint32_t lost;    /* out, enum entry_lost: what cannot be stored is added, no failure */
};

#define PARTIAL_KEEP_MODE UINT32_MAX /* in facts->mode */
#define PARTIAL_KEEP_TIME UINT32_MAX /* in facts->mtime.nsec */

/*
 * root_fd      held until place_close(): the destination directory of the job.
 * private_fd   directory under which `.haul/` is made (the share's top, or root_fd itself); held. -1: nothing will be
 *              written, and nothing is made or swept.
 */
HAUL_MUST_USE haul_status place_open(int root_fd, int private_fd, struct place **ret_place, struct haul_fault *fault);

enum { PLACE_KEEP_DAYS = 14, PLACE_KEEP_DAYS_MAX = 3650 };

/* As place_open(), where kept partials stay for so many days (1 to PLACE_KEEP_DAYS_MAX) instead of PLACE_KEEP_DAYS. */
HAUL_MUST_USE haul_status place_open_keeping(int root_fd, int private_fd, unsigned keep_days, struct place **ret_place,
					     struct haul_fault *fault);

/*
 * Whom what is made here from now on belongs to: files, directories and links, not what stands there already. Given
 * before mode and times; where it cannot be given, making fails as owner_give(). Before the first of them.
 */
void place_set_owner(struct place *p, const struct owner *owner);

/*
 * From now on partials with a source (partial_config) are kept. Before the first of them. Where that cannot be, nothing
 * is said: they die with their job.
 *
 * peer_id   32 bytes: whom they come from.
 */
void place_keep(struct place *p, const uint8_t peer_id[32]);

/* What the root is called below the private directory, without a slash at the end: noted with what is kept. Held. */
void place_name_root(struct place *p, const char *path);

void place_close(struct place *p); /* removes the job's directory with what is left in it; NULL is fine */

/* What was there when a kept partial was opened. */
enum partial_found {
	PARTIAL_NEW,      /* nothing: all zeros */
	PARTIAL_OF_SAME,  /* this state of this source for certain: what is recorded counts (partial_read_record) */
	PARTIAL_OF_OTHER, /* another source, or nobody can tell: its leaves may be equal; the record begins anew */
};

/* A file on its way. Zero-initialised is closed. */
struct partial {
	struct disk_file file;
	int dir_fd; /* where it lies: the job's directory (borrowed from the place) or the target's own (owned) */
	bool owns_dir;
	char *
	    beside; /* owned; a small one in its target's directory is found by this path: a group may hold thousands */
	struct place *place; /* held; with `beside`, and when kept */
	char name[48];       /* in dir_fd */
	int nameless_fd;     /* owned; a small one without a name yet, when is_nameless */
	bool is_nameless;
	uint64_t size;
	struct owner owner; /* it gets when it is finished: until then nobody else may write to it */
	bool is_in_place;   /* it is the target itself: nothing of it is ever removed, whatever happens */
	uint64_t old_size;  /* with is_in_place: when it was opened */
	/* kept ones alone */
	bool is_kept, has_record, is_sparse;
	haul_status lost;     /* a sync failed: nothing of it can be trusted */
	bool stops_recording; /* there is no room for more of the record: what it has counts */
	enum partial_found found;
	uint64_t had_bytes; /* on disk, of what an earlier job of the same device had recorded when this was opened */
	char *label;        /* owned: its path below the private directory, for the record; NULL: none is noted */
	struct leaf_source source;
	struct leaf_record record; /* owned, with has_record */
	/* after partial_keep(): bytes on disk of what stays, and whether it lies beside its target */
	uint64_t kept_bytes;
	bool kept_beside;
	int lock_fd; /* owned, -1: a second handle that holds the lock from partial_finish() until it has its name */
};

struct partial_config {
	uint64_t size; /* bytes */
	enum direct_mode direct;
	bool is_sparse;                   /* most of it may be holes: room is taken as it is written, not now */
	const struct leaf_source *source; /* what it will be a copy of, borrowed: it may be kept; NULL: it is not */
	bool starts_anew;                 /* what an earlier job has kept of it is not wanted */
};

/*
 * Create a partial for `path` (below the root) of cfg->size bytes, all of it zeros, and preallocate it unless it is
 * sparse or lies in memory (there only the room is looked at).
 *
 * HAUL_NO_SPACE, HAUL_QUOTA   told now, by the preallocation; nothing is left. HAUL_TOO_BIG: also when sparse.
 * HAUL_DENIED, HAUL_READ_ONLY, HAUL_LINK_IN_PATH, HAUL_NOT_DIRECTORY   of the target directory.
 */
HAUL_MUST_USE haul_status partial_create(struct place *p, const char *path, const struct partial_config *cfg,
					 struct partial *ret_partial, struct haul_fault *fault);

/*
 * The regular file at `path` itself, open for reading and writing and locked, in the place of a partial: what is
 * written is under its name at once. partial_zero_rest() and partial_finish() as for any; partial_publish() only looks
 * whether it still has its name (HAUL_CHANGED); partial_discard() and partial_keep() leave it as it is by then.
 *
 * HAUL_BUSY   another job, or program, has it locked. HAUL_WRONG_KIND. Else as open(2).
 */
HAUL_MUST_USE haul_status partial_open_in_place(struct place *p, const char *path, const struct partial_config *cfg,
						struct partial *ret_partial, struct haul_fault *fault);

/*
 * Give the new partial the extents of another file of its size instead of bytes (FICLONE): nothing is read or written.
 *
 * source_fd   borrowed; open for reading. What is in the page cache of it is flushed by the kernel first.
 * HAUL_CROSS_DEVICE   never between these two file systems, or not on this one. HAUL_UNSUPPORTED: not these two files.
 * After either the partial is as it was.
 */
HAUL_MUST_USE haul_status partial_clone(struct partial *f, int source_fd);

/*
 * The same with a file of another length: as far as it reaches, then zeros, to the partial's size. HAUL_CROSS_DEVICE,
 * HAUL_UNSUPPORTED: the partial is as it was; after anything else it is of no use.
 */
HAUL_MUST_USE haul_status partial_clone_basis(struct partial *f, int source_fd);

/*
 * A whole small file in one go: create, write `len` bytes, owner and meta; not synced, descriptor closed.
 * ret_partial names it (file.fd is -1) for partial_publish().
 */
HAUL_MUST_USE haul_status partial_create_small(struct place *p, const char *path, const void *data, size_t len,
					       struct place_meta *meta, struct partial *ret_partial);

/* Cut to the exact size, set owner and meta, fsync unless !sync, close. The partial keeps its name. */
HAUL_MUST_USE haul_status partial_finish(struct partial *f, struct place_meta *meta, bool sync,
					 struct haul_fault *fault);

enum publish_rule { PUBLISH_NO_REPLACE, PUBLISH_REPLACE };

/*
 * Give the finished partial its name: renameat2 within the file system. Replaces a file or link if the rule allows,
 * never a directory (HAUL_IS_DIRECTORY). The caller syncs the directory (place_sync_parent, place_sync_all). On success
 * the partial is closed; on failure still the caller's (partial_discard).
 */
HAUL_MUST_USE haul_status partial_publish(struct place *p, struct partial *f, const char *path, enum publish_rule rule);

/* Close and unlink, a record too. Fine on a closed one. */
void partial_discard(struct partial *f);

/* ---- kept ones ---- */

/* PARTIAL_OF_SAME: what is recorded, as leaf_record_read(). Once. */
HAUL_MUST_USE haul_status partial_read_record(struct partial *f, struct leaf_map *ret_have,
					      struct haul_digest *ret_digests);

/* Make every leaf that is not in `have` read as zeros, whatever an earlier job left there. */
HAUL_MUST_USE haul_status partial_zero_rest(struct partial *f, const struct leaf_map *have);

/*
 * Sync what has been written so far, then record these leaves. While others write to the file.
 *
 * A failure says that nothing written since the last one can be trusted: partial_discard().
 */
HAUL_MUST_USE haul_status partial_checkpoint(struct partial *f, const struct leaf_piece *pieces, size_t count);

/* The same for leaves that were there already: those of `have`, in `digests` at their numbers. */
HAUL_MUST_USE haul_status partial_record_have(struct partial *f, const struct leaf_map *have,
					      const struct haul_digest *digests);

/*
 * Close it and leave it to the next job; room that was reserved for what has not come is given back. One without a
 * record, or of which a sync failed, is discarded. f->kept_bytes tells what stays, 0 if nothing does. Fine on a closed
 * one, which stays as it is.
 */
void partial_keep(struct partial *f);

/* Bytes on disk of what an earlier job keeps for `path`, whatever its source was; 0: nothing, or it cannot be told. */
uint64_t place_kept_bytes(struct place *p, const char *path);

/*
 * For a place where nothing will be written (private_fd -1): what is kept for this device below that directory can be
 * looked at with place_kept_bytes(). private_fd is borrowed.
 */
void place_look_kept(struct place *p, int private_fd, const uint8_t peer_id[32]);

/* What is kept for `path` goes, unless another job has it (false): it will not be gone on with. */
bool place_forget_kept(struct place *p, const char *path);

/* fsync of the directory that holds `path`. */
HAUL_MUST_USE haul_status place_sync_parent(struct place *p, const char *path);

/*
 * syncfs on the place's file system (handle opened by place_open, before the first write, so that its errors are seen).
 * Small files, directories and names on another file system below the root do not wait for it: each is synced when it
 * is made. So is everything where syncfs does not reach the medium (sync_reach.h).
 */
HAUL_MUST_USE haul_status place_sync_all(struct place *p);

/* Make one directory, writable for us until place_finish_directory(). HAUL_EXISTS with *ret_kind set if something is
 * there. */
HAUL_MUST_USE haul_status place_make_directory(struct place *p, const char *path, enum entry_kind *ret_kind);

/*
 * Add what we need (u+rwx) to the mode of a directory that stands there, so that things can be made in it. Nothing is
 * changed where we may do so already. "" is the root.
 *
 * ret_old_mode   07777 at most; give it to place_finish_directory() at the end.
 * HAUL_DENIED    it is not ours.
 */
HAUL_MUST_USE haul_status place_open_up_directory(struct place *p, const char *path, uint32_t *ret_old_mode);

/*
 * Final metadata of a directory, through its handle; fsync when `sync`. Of one that is ours what the file system cannot
 * store is left out without an error.
 */
HAUL_MUST_USE haul_status place_finish_directory(struct place *p, const char *path, struct place_meta *meta, bool sync);

/*
 * Set metadata of an existing regular file or link through its handle, if it is still what `seen` says (inode, ctime):
 * HAUL_CHANGED, HAUL_WRONG_KIND otherwise. A link has no mode of its own. What the file system cannot store of one that
 * is ours is left out.
 */
HAUL_MUST_USE haul_status place_set_meta(struct place *p, const char *path, const struct entry_facts *seen,
					 struct place_meta *meta);

/* A symbolic link with its owner, attributes and mtime: made under a private name, then renamed. Same rule as
 * partial_publish(). */
HAUL_MUST_USE haul_status place_make_link(struct place *p, const char *path, const char *target,
					  struct place_meta *meta, enum publish_rule rule);

/* What attribute_read_at() finds of what stands at `path`, which was looked at as `facts`; also as place_stat(). */
HAUL_MUST_USE haul_status place_read_attributes(struct place *p, const char *path, const struct entry_facts *facts,
						struct attribute_reader *reader, struct attributes **ret_set,
						bool *ret_left_out);

/* Facts of what stands at `path`, links not followed; HAUL_NOT_FOUND when nothing does. */
HAUL_MUST_USE haul_status place_stat(struct place *p, const char *path, struct entry_facts *ret_facts);

/* Target of the link that stands at `path`; given (free). */
HAUL_MUST_USE haul_status place_read_link(struct place *p, const char *path, char **ret_target, size_t *ret_len);

/* Open the regular file at `path` for reading. Given. */
HAUL_MUST_USE haul_status place_open_file(struct place *p, const char *path, enum direct_mode mode,
					  struct disk_file *ret_file, struct haul_fault *fault);

/* Nanoseconds that stored times are rounded to (1 on ext4, XFS, btrfs, tmpfs; 2e9 on FAT). Probed from the file system
 * type. */
uint64_t place_time_step_ns(const struct place *p);

#endif
