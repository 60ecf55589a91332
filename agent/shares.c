/*
 * The `shares` file: one record a share, "NAME PATH UID GID UMASK KEEP" in decimal, "-" where not set; KEEP, days, may
 * be missing. Read whole or not at all; changed under its lock, so that two commands at once do not lose a share.
 */
#include "agent/shares.h"

#include "engine/base/escape.h"
#include "engine/base/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_MAX = 256, SHARE_NAME_MAX = 64, SHARES_MAX = 256, SHARE_FIELDS = 5 };

static const char shares_file[] = "shares";
static const char shares_format[] = "haul-shares 1";

static bool is_share_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= SHARE_NAME_MAX && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == len &&
	       *name != '.' && *name != '-';
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct share *)a)->name, ((const struct share *)b)->name);
}

/* A decimal number up to `max`, or "-" for `unset`. */
static bool read_number(const char *text, uint64_t max, uint64_t unset, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!strcmp(text, "-")) {
		*ret_value = unset;
		return true;
	}
	if (!*text || strlen(text) > 10)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	*ret_value = value;
	return value <= max;
}

static void write_number(struct record_writer *w, uint64_t value, uint64_t unset)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	record_writer_field(w, value == unset ? "-" : text);
}

static haul_status read_record(const struct record_file *file, size_t line, struct share *ret_share)
{
	struct share share = { .name = NULL };
	uint64_t umask_bits, keep_days = 0;

	if (record_file_fields(file, line) < SHARE_FIELDS || !is_share_name(record_file_field(file, line, 0)) ||
	    *record_file_field(file, line, 1) != '/')
		return HAUL_BAD_VALUE;
	if (!read_number(record_file_field(file, line, 2), UINT32_MAX - 1, UINT64_MAX, &share.own_uid) ||
	    !read_number(record_file_field(file, line, 3), UINT32_MAX - 1, UINT64_MAX, &share.own_gid) ||
	    !read_number(record_file_field(file, line, 4), 0777, UINT32_MAX, &umask_bits))
		return HAUL_BAD_VALUE;
	if (record_file_fields(file, line) > SHARE_FIELDS &&
	    !read_number(record_file_field(file, line, SHARE_FIELDS), SHARE_KEEP_DAYS_MAX, 0, &keep_days))
		return HAUL_BAD_VALUE;
	share.umask = (uint32_t)umask_bits;
	share.keep_days = (uint32_t)keep_days;
	share.name = strdup(record_file_field(file, line, 0));
	share.path = strdup(record_file_field(file, line, 1));
	*ret_share = share;
	return share.name && share.path ? HAUL_OK : HAUL_NO_MEMORY;
}

static haul_status read_records(const struct record_file *file, struct share_list *l)
{
	size_t lines = record_file_lines(file);
	haul_status st = HAUL_OK;

	if (lines > SHARES_MAX)
		return HAUL_BAD_VALUE;
	l->shares = calloc(lines + 1, sizeof(*l->shares));
	if (!l->shares)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < lines && haul_ok(st); i++) {
		st = read_record(file, i, &l->shares[i]);
		l->count = i + 1;
	}
	return st;
}

static haul_status load_from(int dir_fd, struct share_list *ret_list, struct haul_fault *fault)
{
	struct share_list list = { .count = 0 };
	struct record_file *file;
	haul_status st = record_file_read(dir_fd, shares_file, shares_format, &file, fault);

	if (st.code == HAUL_CODE_NOT_FOUND) {
		*ret_list = list;
		return HAUL_OK;
	}
	if (haul_failed(st))
		return st;
	st = read_records(file, &list);
	record_file_free(file);
	if (haul_failed(st)) {
		shares_free(&list);
		return haul_fault_set(fault, st, "the file `shares` of this home is damaged: remove it and share anew");
	}
	qsort(list.shares, list.count, sizeof(*list.shares), by_name);
	*ret_list = list;
	return HAUL_OK;
}

static haul_status save_to(int dir_fd, const struct share_list *l, struct haul_fault *fault)
{
	struct record_writer *w = record_writer_new(shares_format);
	haul_status st;

	if (!w)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	for (size_t i = 0; i < l->count; i++) {
		record_writer_line(w);
		record_writer_field(w, l->shares[i].name);
		record_writer_field(w, l->shares[i].path);
		write_number(w, l->shares[i].own_uid, UINT64_MAX);
		write_number(w, l->shares[i].own_gid, UINT64_MAX);
		write_number(w, l->shares[i].umask, UINT32_MAX);
		write_number(w, l->shares[i].keep_days, 0);
	}
	st = record_writer_commit(w, dir_fd, shares_file, fault);
	record_writer_free(w);
	return st;
}

haul_status shares_load(const struct home *h, struct share_list *ret_list, struct haul_fault *fault)
{
	haul_status st;
	int dir_fd;

	st = home_open_config(h, &dir_fd, fault);
	if (haul_failed(st))
		return st;
	st = load_from(dir_fd, ret_list, fault);
	close(dir_fd);
	return st;
}

static void share_close(struct share *s)
{
	free(s->name);
	free(s->path);
	*s = (struct share){ .name = NULL };
}

void shares_free(struct share_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		share_close(&l->shares[i]);
	free(l->shares);
	*l = (struct share_list){ .count = 0 };
}

const struct share *shares_find(const struct share_list *l, const char *name, size_t name_len)
{
	for (size_t i = 0; i < l->count; i++)
		if (strlen(l->shares[i].name) == name_len && !memcmp(l->shares[i].name, name, name_len))
			return &l->shares[i];
	return NULL;
}

/* A copy with an absolute path that names a directory. */
static haul_status prepare_share(const struct share *from, struct share *ret_share, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];
	struct share share = *from;
	struct stat facts;
	char *cwd = NULL;
	int n;

	haul_escape(from->name, strlen(from->name), shown, sizeof(shown));
	if (!is_share_name(from->name))
		return haul_fault_set(fault, HAUL_BAD_VALUE,
				      "%s cannot name a share: use 1 to %d characters of a-z 0-9 . _ -", shown,
				      SHARE_NAME_MAX);
	haul_escape(from->path, strlen(from->path), shown, sizeof(shown));
	if (stat(from->path, &facts))
		return haul_fault_errno(fault, errno, "%s cannot be shared", shown);
	if (!S_ISDIR(facts.st_mode))
		return haul_fault_set(fault, HAUL_NOT_DIRECTORY,
				      "%s is not a directory: share the directory it lies in", shown);
	if (*from->path != '/' && !(cwd = getcwd(NULL, 0)))
		return haul_fault_errno(fault, errno, "find the current directory");
	n = cwd && strcmp(from->path, ".") ? asprintf(&share.path, "%s/%s", strcmp(cwd, "/") ? cwd : "", from->path)
					   : asprintf(&share.path, "%s", cwd ? cwd : from->path);
	free(cwd);
	share.name = strdup(from->name);
	if (n < 0 || !share.name) {
		free(n < 0 ? NULL : share.path);
		free(share.name);
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	}
	for (size_t len = strlen(share.path); len > 1 && share.path[len - 1] == '/'; len--)
		share.path[len - 1] = '\0';
	*ret_share = share;
	return HAUL_OK;
}

/* `share`: taken. */
static haul_status put_share(struct share_list *l, struct share *share, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];
	struct share *grown;

	for (size_t i = 0; i < l->count; i++) {
		struct share *old = &l->shares[i];

		if (strcmp(old->name, share->name))
			continue;
		haul_escape(old->path, strlen(old->path), shown, sizeof(shown));
		if (strcmp(old->path, share->path))
			return haul_fault_set(
			    fault, HAUL_EXISTS,
			    "there is a share %s already (%s): take another name, or haul share remove %s first",
			    old->name, shown, old->name);
		share_close(old);
		*old = *share;
		return HAUL_OK;
	}
	if (l->count == SHARES_MAX)
		return haul_fault_set(fault, HAUL_OVERFLOW, "a machine has at most %d shares", SHARES_MAX);
	grown = realloc(l->shares, (l->count + 1) * sizeof(*grown));
	if (!grown)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	l->shares = grown;
	l->shares[l->count++] = *share;
	return HAUL_OK;
}

static haul_status drop_share(struct share_list *l, const char *name, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->shares[i].name, name))
			continue;
		share_close(&l->shares[i]);
		l->count--;
		memmove(&l->shares[i], &l->shares[i + 1], (l->count - i) * sizeof(*l->shares));
		return HAUL_OK;
	}
	haul_escape(name, strlen(name), shown, sizeof(shown));
	return haul_fault_set(fault, HAUL_NO_SHARE, "this machine has no share %s: see haul share list", shown);
}

/* Under the lock: read, put `add` (taken) or drop the share `name`, write. */
static haul_status change(const struct home *h, struct share *add, const char *name, struct haul_fault *fault)
{
	struct share_list list;
	int dir_fd, lock_fd;
	haul_status st;

	st = home_open_config(h, &dir_fd, fault);
	if (haul_failed(st))
		return st;
	st = record_lock(dir_fd, shares_file, &lock_fd, fault);
	if (haul_failed(st))
		goto close_dir;
	st = load_from(dir_fd, &list, fault);
	if (haul_failed(st))
		goto unlock;
	st = add ? put_share(&list, add, fault) : drop_share(&list, name, fault);
	if (haul_ok(st)) {
		if (add)
			*add = (struct share){ .name = NULL };
		st = save_to(dir_fd, &list, fault);
	}
	shares_free(&list);
unlock:
	record_unlock(lock_fd);
close_dir:
	close(dir_fd);
	return st;
}

haul_status shares_add(const struct home *h, const struct share *share, struct haul_fault *fault)
{
	struct share copy;
	haul_status st = prepare_share(share, &copy, fault);

	if (haul_failed(st))
		return st;
	st = change(h, &copy, NULL, fault);
	share_close(&copy);
	return st;
}

haul_status shares_remove(const struct home *h, const char *name, struct haul_fault *fault)
{
	return change(h, NULL, name, fault);
}
