/*
 * The quota of one device on one share: by how much it may make the share grow (docs/CLI.md "Quota"). One account
 * serves all jobs of that device that write to that share, so what they take up at once is counted together.
 *
 * Two numbers count. `grown`: of each file that got its name, its size less that of the file it replaced; noted in the
 * ledger (quota_ledger.h) before the name is given, some way ahead, so that a crash never makes it less. `held`: what
 * is on the disk and has no name yet: the whole size of each big file under way, and what interrupted jobs have left
 * for this device. What lies beside its target and outlives its job is not found again by looking, so it counts as
 * grown from then on, and as held again when a job goes on with it.
 *
 * Without a limit the same is held and nothing is noted: one may be set while jobs run.
 *
 * Thread: any, unless said otherwise; a lock of its own is held for the time of a file's rename at most.
 */
#ifndef HAUL_AGENT_QUOTA_H
#define HAUL_AGENT_QUOTA_H

#include "engine/base/fault.h"
#include "engine/base/list.h"
#include "engine/base/quota_limit.h"

#include <stdbool.h>
#include <stddef.h>

struct quota;

/*
 * The account of that device on that share, made when there is none in the list (of struct quota, main loop's).
 *
 * state_dir   held, where the ledger lies
 * Given: quota_leave(). NULL without memory. Main loop.
 */
struct quota *quota_join(struct list *accounts, const char *state_dir, const uint8_t device_id[32], const char *share,
			 const struct quota_limit *limit);
void quota_leave(struct quota *q); /* NULL is fine. Main loop; the last one notes what has been counted. */

/* The limit is another one: counting begins anew. The same again is fine. Main loop. */
void quota_set(struct quota *q, const struct quota_limit *limit);

/*
 * Before the first job takes anything: read what has been counted, look at what is kept. Blocking; once, whoever comes
 * first. share_fd is borrowed. Failures matter only to a device with a limit, and are told to it alone.
 */
HAUL_MUST_USE haul_status quota_load(struct quota *q, int share_fd, struct haul_fault *fault);

/* Hold so many bytes; false: the limit is passed, and nothing is held. */
HAUL_MUST_USE bool quota_take(struct quota *q, uint64_t bytes);

/* What was held as `from` bytes is `to` bytes now, limit or not. */
void quota_change(struct quota *q, uint64_t from, uint64_t to);

/* What lay beside its target counts as grown no more (it is held from now on), or from now on. */
void quota_take_up_beside(struct quota *q, uint64_t bytes);
void quota_leave_beside(struct quota *q, uint64_t bytes);

/* The limit, and what is left of it; 0 and UINT64_MAX: there is none. */
uint64_t quota_bytes(struct quota *q);
uint64_t quota_left(struct quota *q);

/* A file that is to get its name. */
struct quota_naming {
	uint64_t size;
	uint64_t held; /* of it; not any more when it has its name */
	haul_status (*replaced)(void *ctx,
				uint64_t *ret_size); /* size of the file it replaces; called first, if a limit */
	haul_status (*give_name)(void *ctx);
	void *ctx;
};

/*
 * Count it and give it its name, with no other file of this account in between. HAUL_QUOTA: the limit is less than it
 * was when the file was let in, and it would pass it. Other failures: of give_name, or the ledger could not be written.
 * Then it has not been named and nothing has changed.
 */
HAUL_MUST_USE haul_status quota_name(struct quota *q, const struct quota_naming *n);

/*
 * How much of a limit is used now, as far as the ledger and what is kept say; jobs that run may have more. share_fd:
 * the share, borrowed; -1: what is kept is not looked at. Blocking.
 */
HAUL_MUST_USE haul_status quota_used(const char *state_dir, const uint8_t device_id[32], const char *share,
				     const struct quota_limit *limit, int share_fd, uint64_t *ret_bytes);

#endif
