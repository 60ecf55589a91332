/*
 * The one place where the result of a read or write enters. A direct transfer that comes back short goes on at the last
 * aligned position, because nothing else is allowed; when even that brings nothing new, a read is at the end of its
 * file and a write is finished through the page cache, which tells the true reason. EINVAL to a direct step means that
 * the file system does not do it after all, EIO that it could not: the file becomes buffered and the step is repeated.
 * What is truly broken fails there again, or at the sync.
 */
#include "engine/engine_request.h"

#include "engine/base/checked.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	STEP_MAX_BYTES = 1 << 30, /* the kernel's own limit is 2 GiB less a page */
	AGAIN_MAX = 100,          /* a file system that never stops saying EAGAIN is broken */
};

haul_status engine_request_open(struct engine_request *r)
{
	const uint64_t limit = (uint64_t)INT64_MAX - DISK_FILE_ALIGN_MAX; /* room for rounding up */
	uint32_t align = r->file->offset_align;

	r->is_direct = atomic_load(&r->file->is_direct);
	r->whole = r->len;
	r->at = r->reached = 0;
	r->again = 0;
	if (r->offset > limit || r->len > limit - r->offset)
		return HAUL_OVERFLOW;
	if (!r->is_direct)
		return HAUL_OK;
	assert(r->offset % align == 0 && (uintptr_t)r->buf % r->file->memory_align == 0);
	r->whole = (size_t)haul_round_up(r->len, align);
	if (r->is_write && r->whole > r->len)
		memset(r->buf + r->len, 0, r->whole - r->len);
	return HAUL_OK;
}

struct request_step request_step(const struct engine_request *r)
{
	size_t left = r->whole - r->at;

	return (struct request_step){
		.buf = r->buf + r->at,
		.len = (uint32_t)(left < STEP_MAX_BYTES ? left : STEP_MAX_BYTES),
		.offset = r->offset + r->at,
	};
}

static bool finish(struct engine_request *r, haul_status st, int err)
{
	r->done.status = st;
	r->done.os_errno = err;
	r->done.bytes = r->reached < r->len ? r->reached : r->len;
	return true;
}

static bool go_buffered(struct engine_request *r, enum buffered_reason why)
{
	haul_status st = disk_file_make_buffered(r->file, why);

	if (haul_failed(st))
		return finish(r, st, EINVAL);
	r->is_direct = false;
	r->whole = r->len;
	r->at = r->reached;
	return false;
}

static bool take_failure(struct engine_request *r, int err)
{
	if ((err == EINTR || err == EAGAIN) && ++r->again < AGAIN_MAX)
		return false;
	if (r->is_direct && (err == EINVAL || err == EOPNOTSUPP || err == ENOTBLK))
		return go_buffered(r, BUFFERED_IO_REFUSED);
	if (r->is_direct && err == EIO)
		return go_buffered(r, BUFFERED_IO_FAILED);
	return finish(r, err == EAGAIN || err == EINTR ? HAUL_IO : haul_status_from_errno(err), err);
}

bool request_take_result(struct engine_request *r, int64_t result)
{
	size_t moved, step;

	if (result < 0)
		return take_failure(r, (int)-result);
	r->again = 0;
	moved = (size_t)result;
	assert(moved <= r->whole - r->at);
	if (r->at + moved > r->reached)
		r->reached = r->at + moved;
	if (r->reached >= r->len)
		return finish(r, HAUL_OK, 0);
	if (moved == 0)
		return r->is_write ? finish(r, HAUL_NO_SPACE, ENOSPC) : finish(r, HAUL_OK, 0);
	step = r->is_direct ? moved & ~((size_t)r->file->offset_align - 1) : moved;
	if (step == 0)
		return r->is_write ? go_buffered(r, BUFFERED_IO_REFUSED) : finish(r, HAUL_OK, 0);
	r->at += step;
	return false;
}
