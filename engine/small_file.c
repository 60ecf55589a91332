/*
 * Open, look, read, look again, close. Between the scan and now anything may have taken the file's place, so it is
 * opened without blocking and its facts are those of the handle. Without O_NOATIME (only the owner may) the read would
 * cost a write of the inode: it is tried first. Fails as the header says.
 */
#include "engine/small_file.h"

#include "engine/beneath.h"
#include "engine/whole_io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static haul_status open_quietly(const struct source_place *at, int *ret_fd)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	haul_status st = follow_open(at, flags | O_NOATIME, ret_fd);

	if (st.code != HAUL_CODE_DENIED)
		return st;
	return follow_open(at, flags, ret_fd);
}

static bool is_same_content(const struct entry_facts *a, const struct entry_facts *b)
{
	return entry_is_same(a, b) && a->size == b->size && entry_time_equal(&a->mtime, &b->mtime);
}

/* HAUL_OK when the handle is still what `expect` says; ret_facts is filled in any case but failure to look. */
static haul_status look(int fd, const struct entry_facts *expect, struct entry_facts *ret_facts)
{
	haul_status st = beneath_stat_handle(fd, ret_facts);

	if (haul_failed(st))
		return st;
	if (ret_facts->kind != ENTRY_FILE)
		return HAUL_WRONG_KIND;
	return is_same_content(ret_facts, expect) ? HAUL_OK : HAUL_CHANGED;
}

static haul_status read_all(int fd, uint8_t *buf, size_t len)
{
	size_t got;
	haul_status st = read_up_to(fd, buf, len, &got);

	return haul_ok(st) && got < len ? HAUL_CHANGED : st; /* cut meanwhile */
}

haul_status small_file_read(const struct source_place *at, const struct entry_facts *expect, void *buf, size_t cap,
			    size_t *ret_len, struct entry_facts *ret_facts)
{
	struct entry_facts facts;
	haul_status st;
	int fd;

	assert(expect->size <= cap);
	st = open_quietly(at, &fd);
	if (haul_failed(st))
		return st;
	st = look(fd, expect, &facts);
	if (haul_ok(st))
		st = read_all(fd, buf, (size_t)expect->size);
	if (haul_ok(st))
		st = look(fd, expect, &facts);
	(void)close(fd); /* read only: nothing can be lost */
	if (haul_failed(st))
		return st;
	*ret_len = (size_t)expect->size;
	*ret_facts = facts;
	return HAUL_OK;
}
