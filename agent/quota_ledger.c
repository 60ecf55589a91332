/* Small, and written seldom: it is read and written whole, under its lock, like the other files of a home. */
#include "agent/quota_ledger.h"

#include "certs/device_id.h"
#include "engine/base/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ledger_file[] = "grown";
static const char ledger_format[] = "haul-grown 1";

enum { FIELDS = 4, NUMBER_TEXT = 24 };

static haul_status open_state(const char *state_dir, int *ret_fd, struct haul_fault *fault)
{
	*ret_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? haul_fault_errno(fault, errno, "open %s", state_dir) : HAUL_OK;
}

/* Its records; NULL with HAUL_OK: there is no such file yet. */
static haul_status read_file(int dir_fd, const char *state_dir, struct record_file **ret_file, struct haul_fault *fault)
{
	haul_status st = record_file_read(dir_fd, ledger_file, ledger_format, ret_file, fault);

	if (st.code == HAUL_CODE_NOT_FOUND) {
		*ret_file = NULL;
		return HAUL_OK;
	}
	if (st.code == HAUL_CODE_BAD_VALUE)
		return haul_fault_set(
		    fault, st, "%s/%s is damaged, so no quota can be counted: remove it, and all begin at nothing",
		    state_dir, ledger_file);
	return st;
}

static bool is_of(const struct record_file *file, size_t line, const char *id_text, const char *share)
{
	return record_file_fields(file, line) == FIELDS && !strcmp(record_file_field(file, line, 0), id_text) &&
	       !strcmp(record_file_field(file, line, 1), share);
}

static uint64_t count_in(const struct record_file *file, const struct quota_count *of)
{
	char id_text[DEVICE_ID_TEXT_MAX], since[NUMBER_TEXT];

	device_id_text(of->device_id, id_text);
	(void)snprintf(since, sizeof(since), "%" PRId64, of->window_s);
	for (size_t i = 0; i < record_file_lines(file); i++) {
		if (is_of(file, i, id_text, of->share) && !strcmp(record_file_field(file, i, 2), since))
			return strtoull(record_file_field(file, i, 3), NULL, 10);
	}
	return 0;
}

haul_status quota_ledger_read(const char *state_dir, const struct quota_count *of, uint64_t *ret_bytes,
			      struct haul_fault *fault)
{
	struct record_file *file = NULL;
	int dir_fd;
	haul_status st = open_state(state_dir, &dir_fd, fault);

	if (haul_failed(st))
		return st;
	st = read_file(dir_fd, state_dir, &file, fault);
	(void)close(dir_fd);
	if (haul_failed(st))
		return st;
	*ret_bytes = file ? count_in(file, of) : 0;
	record_file_free(file);
	return HAUL_OK;
}

static void put_count(struct record_writer *w, const struct quota_count *of, uint64_t bytes)
{
	char text[DEVICE_ID_TEXT_MAX];

	record_writer_line(w);
	record_writer_field(w, device_id_text(of->device_id, text));
	record_writer_field(w, of->share);
	(void)snprintf(text, sizeof(text), "%" PRId64, of->window_s);
	record_writer_field(w, text);
	(void)snprintf(text, sizeof(text), "%" PRIu64, bytes);
	record_writer_field(w, text);
}

/* All others as they are. */
static void put_others(struct record_writer *w, const struct record_file *file, const struct quota_count *of)
{
	char id_text[DEVICE_ID_TEXT_MAX];

	device_id_text(of->device_id, id_text);
	for (size_t i = 0; i < record_file_lines(file); i++) {
		if (is_of(file, i, id_text, of->share))
			continue;
		record_writer_line(w);
		for (size_t k = 0; k < record_file_fields(file, i); k++)
			record_writer_field(w, record_file_field(file, i, k));
	}
}

static haul_status replace(int dir_fd, const char *state_dir, const struct quota_count *of, uint64_t bytes,
			   struct haul_fault *fault)
{
	struct record_writer *w;
	struct record_file *file = NULL;
	haul_status st = read_file(dir_fd, state_dir, &file, fault);

	if (haul_failed(st))
		return st;
	w = record_writer_new(ledger_format);
	if (w) {
		if (file)
			put_others(w, file, of);
		put_count(w, of, bytes);
		st = record_writer_commit(w, dir_fd, ledger_file, fault);
	} else {
		st = haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	}
	record_writer_free(w);
	record_file_free(file);
	return st;
}

haul_status quota_ledger_write(const char *state_dir, const struct quota_count *of, uint64_t bytes,
			       struct haul_fault *fault)
{
	int dir_fd, lock_fd;
	haul_status st = open_state(state_dir, &dir_fd, fault);

	if (haul_failed(st))
		return st;
	st = record_lock(dir_fd, ledger_file, &lock_fd, fault);
	if (haul_ok(st)) {
		st = replace(dir_fd, state_dir, of, bytes, fault);
		record_unlock(lock_fd);
	}
	(void)close(dir_fd);
	return st;
}
