/* Writing record files: the text is put together in memory, then replaces the old file in one rename. */
#include "engine/base/record_file.h"

#include "engine/base/record_text.h"
#include "engine/base/replace_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum {
	TEXT_BYTES_FIRST = 4096,
	LOCK_WAIT_MS = 10000,
	LOCK_STEP_MS = 20,
};

struct record_writer {
	char *text;
	size_t len;
	size_t cap;
	haul_status status; /* the first failure; it sticks */
	bool is_line_empty; /* a record was begun and has no field yet */
};

static bool make_room(struct record_writer *w, size_t more)
{
	size_t cap = w->cap ? w->cap : TEXT_BYTES_FIRST;
	char *text;

	if (haul_failed(w->status))
		return false;
	if (more > RECORD_FILE_BYTES_MAX - w->len) {
		w->status = HAUL_OVERFLOW;
		return false;
	}
	while (cap < w->len + more)
		cap *= 2;
	if (cap == w->cap)
		return true;
	text = realloc(w->text, cap);
	if (!text) {
		w->status = HAUL_NO_MEMORY;
		return false;
	}
	w->text = text;
	w->cap = cap;
	return true;
}

static void put(struct record_writer *w, const char *text, size_t len)
{
	if (!make_room(w, len))
		return;
	memcpy(w->text + w->len, text, len);
	w->len += len;
}

struct record_writer *record_writer_new(const char *format)
{
	struct record_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	put(w, format, strlen(format));
	return w;
}

void record_writer_free(struct record_writer *w)
{
	if (!w)
		return;
	free(w->text);
	free(w);
}

void record_writer_line(struct record_writer *w)
{
	assert(!w->is_line_empty);
	put(w, "\n", 1);
	w->is_line_empty = true;
}

void record_writer_field(struct record_writer *w, const char *field)
{
	char piece[RECORD_BYTE_TEXT_MAX];

	if (!w->is_line_empty)
		put(w, " ", 1);
	w->is_line_empty = false;
	if (!*field)
		put(w, "%", 1);
	for (; *field; field++)
		put(w, piece, record_byte_encode(*field, piece));
}

haul_status record_writer_commit(struct record_writer *w, int dir_fd, const char *name, struct haul_fault *fault)
{
	char sum[RECORD_SUM_BYTES + 1];

	assert(!w->is_line_empty);
	put(w, "\n", 1);
	if (haul_ok(w->status)) {
		record_sum_text(w->text, w->len, sum);
		put(w, sum, RECORD_SUM_BYTES);
	}
	if (haul_failed(w->status))
		return haul_fault_set(fault, w->status, "write %s", name);
	return replace_file(dir_fd, name, w->text, w->len, fault);
}

static bool wait_for_lock(int fd)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_MS * 1000000L };

	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_STEP_MS) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || waited >= LOCK_WAIT_MS)
			return false;
		(void)nanosleep(&step, NULL);
	}
	return true;
}

haul_status record_lock(int dir_fd, const char *name, int *ret_lock_fd, struct haul_fault *fault)
{
	char path[256];
	int fd;

	if (snprintf(path, sizeof(path), "%s.lock", name) >= (int)sizeof(path))
		return haul_fault_set(fault, HAUL_NAME_TOO_LONG, "lock %s", name);
	fd = openat(dir_fd, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return haul_fault_errno(fault, errno, "open %s", path);
	if (!wait_for_lock(fd)) {
		haul_status st = haul_fault_errno(fault, errno, "lock %s", path);

		(void)close(fd);
		return st;
	}
	*ret_lock_fd = fd;
	return HAUL_OK;
}

void record_unlock(int lock_fd)
{
	(void)close(lock_fd); /* the lock goes with the descriptor */
}
