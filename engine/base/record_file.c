/*
 * Reading record files: the whole file into memory, checksum first, then cut into lines and fields in place (a decoded
 * field is never longer than its written form). Nothing is returned unless all of it is as we write it.
 */
#include "engine/base/record_file.h"

#include "engine/base/crc32.h"
#include "engine/base/escape.h"
#include "engine/base/record_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct record {
	size_t first; /* index into fields */
	size_t count;
};

struct record_file {
	char *text;          /* the file, cut into strings */
	const char **fields; /* of all records, in order; they point into text */
	struct record *records;
	size_t lines;
};

/* Who is being read, for faults. */
struct reading {
	const char *name;
	struct haul_fault *fault;
};

static haul_status damaged(const struct reading *r, const char *why)
{
	char shown[HAUL_ESCAPED_MAX];

	return haul_fault_set(r->fault, HAUL_BAD_VALUE, "%s: %s", haul_escape(r->name, strlen(r->name), shown, 256),
			      why);
}

static haul_status failed_errno(const struct reading *r, int err)
{
	char shown[HAUL_ESCAPED_MAX];

	return haul_fault_errno(r->fault, err, "read %s", haul_escape(r->name, strlen(r->name), shown, 256));
}

/* Whether the open file is one that we may believe. */
static haul_status check_owner(const struct reading *r, int fd, size_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return failed_errno(r, errno);
	if (!S_ISREG(st.st_mode))
		return damaged(r, "not a regular file");
	if (st.st_size < 0 || st.st_size > RECORD_FILE_BYTES_MAX)
		return damaged(r, "longer than haul ever writes it");
	if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return haul_fault_set(r->fault, HAUL_DENIED, "%s could have been written by another user", r->name);
	*ret_size = (size_t)st.st_size;
	return HAUL_OK;
}

/* The whole content with a NUL behind it; given: free(). */
static haul_status read_all(const struct reading *r, int fd, size_t size, char **ret_text)
{
	char *text = malloc(size + 1);
	size_t got = 0;

	if (!text)
		return haul_fault_set(r->fault, HAUL_NO_MEMORY, "read %s", r->name);
	while (got < size) {
		ssize_t n = read(fd, text + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			haul_status st = n < 0 ? failed_errno(r, errno) : damaged(r, "shrank while it was read");

			free(text);
			return st;
		}
		got += (size_t)n;
	}
	text[size] = '\0';
	*ret_text = text;
	return HAUL_OK;
}

static haul_status load(const struct reading *r, int dir_fd, char **ret_text, size_t *ret_size)
{
	int fd = openat(dir_fd, r->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	haul_status st;

	if (fd < 0)
		return failed_errno(r, errno);
	st = check_owner(r, fd, ret_size);
	if (haul_ok(st))
		st = read_all(r, fd, *ret_size, ret_text);
	(void)close(fd);
	return st;
}

/* Check first line and checksum; *ret_start and *ret_end are what lies between them. */
static haul_status check_frame(const struct reading *r, const char *text, size_t size, const char *format,
			       size_t *ret_start, size_t *ret_end)
{
	size_t head = strlen(format);
	char sum[RECORD_SUM_BYTES + 1];

	if (size < head + 1 + RECORD_SUM_BYTES || memcmp(text, format, head) != 0 || text[head] != '\n')
		return damaged(r, "not in the format of this version");
	record_sum_text(text, size - RECORD_SUM_BYTES, sum);
	if (memcmp(text + size - RECORD_SUM_BYTES, sum, RECORD_SUM_BYTES) != 0)
		return damaged(r, "checksum does not match");
	if (memchr(text, '\0', size))
		return damaged(r, "holds a NUL byte");
	*ret_start = head + 1;
	*ret_end = size - RECORD_SUM_BYTES;
	return HAUL_OK;
}

static size_t count_bytes(const char *text, size_t len, char wanted)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == wanted;
	return n;
}

/* Cut one line, which ends at `end`, into fields from index `first` on. */
static bool cut_line(struct record_file *file, char *line, char *end, size_t first, size_t *ret_count)
{
	size_t count = 0;

	*end = '\0';
	for (char *field = line; field;) {
		char *space = strchr(field, ' ');

		if (space)
			*space = '\0';
		if (!record_field_decode(field))
			return false;
		file->fields[first + count++] = field;
		field = space ? space + 1 : NULL;
	}
	*ret_count = count;
	return true;
}

static haul_status cut_lines(const struct reading *r, struct record_file *file, size_t start, size_t end)
{
	char *at = file->text + start;
	char *last = file->text + end;
	size_t lines = count_bytes(at, end - start, '\n');
	size_t used = 0;

	file->records = calloc(lines + 1, sizeof(*file->records));
	file->fields = calloc(lines + count_bytes(at, end - start, ' ') + 1, sizeof(*file->fields));
	if (!file->records || !file->fields)
		return haul_fault_set(r->fault, HAUL_NO_MEMORY, "read %s", r->name);
	while (at < last) {
		char *newline = memchr(at, '\n', (size_t)(last - at));
		struct record *record = &file->records[file->lines];

		if (!newline || !cut_line(file, at, newline, used, &record->count))
			return damaged(r, "holds a line that haul does not write");
		record->first = used;
		used += record->count;
		file->lines++;
		at = newline + 1;
	}
	return HAUL_OK;
}

haul_status record_file_read(int dir_fd, const char *name, const char *format, struct record_file **ret_file,
			     struct haul_fault *fault)
{
	const struct reading r = { .name = name, .fault = fault };
	struct record_file *file = calloc(1, sizeof(*file));
	size_t size = 0;
	size_t start = 0;
	size_t end = 0;
	haul_status st;

	if (!file)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "read %s", name);
	st = load(&r, dir_fd, &file->text, &size);
	if (haul_failed(st))
		goto free_file;
	st = check_frame(&r, file->text, size, format, &start, &end);
	if (haul_failed(st))
		goto free_file;
	st = cut_lines(&r, file, start, end);
	if (haul_failed(st))
		goto free_file;
	*ret_file = file;
	return HAUL_OK;

free_file:
	record_file_free(file);
	return st;
}

void record_file_free(struct record_file *file)
{
	if (!file)
		return;
	free(file->records);
	free(file->fields);
	free(file->text);
	free(file);
}

size_t record_file_lines(const struct record_file *file)
{
	return file->lines;
}

size_t record_file_fields(const struct record_file *file, size_t line)
{
	return line < file->lines ? file->records[line].count : 0;
}

const char *record_file_field(const struct record_file *file, size_t line, size_t n)
{
	if (n >= record_file_fields(file, line))
		return NULL;
	return file->fields[file->records[line].first + n];
}
