/*
 * The list on disk, a record file "haul-peers 1":
 *
 *   peer ID NAME ADDED-AT METHOD     begins a device; ID as people see it, ADDED-AT in seconds since 1970
 *   address HOST:PORT                of the device above, any number, in order
 *   allow SHARE RIGHTS               of the device above, any number; single words
 *   quota SHARE BYTES SINCE EVERY    of a share that is allowed above: limit, and the seconds of quota_limit.h
 *
 * Reading goes through the same functions that add what a user types, so what they refuse no file brings in. Anything
 * that is not exactly this gives no list: half of one would be a different decision about who may do what.
 */
#include "certs/pins.h"

#include "certs/rights.h"
#include "engine/base/record_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "peers"
#define FORMAT "haul-peers 1"

/* A record being read. */
struct line {
	const struct record_file *file;
	size_t number;
};

static const char *field(const struct line *l, size_t n)
{
	return record_file_field(l->file, l->number, n);
}

static bool has_fields(const struct line *l, size_t count)
{
	return record_file_fields(l->file, l->number) == count;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *ret_number)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value > max)
		return false;
	*ret_number = value;
	return true;
}

static bool parse_time(const char *text, int64_t *ret_seconds)
{
	uint64_t value;

	if (!parse_number(text, INT64_MAX, &value))
		return false;
	*ret_seconds = (int64_t)value;
	return true;
}

static haul_status read_peer(struct pins *pins, const struct line *l, char current[PIN_NAME_MAX + 1])
{
	uint8_t id[DEVICE_ID_BYTES];
	int64_t added_at;
	size_t before = pins->count;
	haul_status st;

	if (!has_fields(l, 5) || !parse_time(field(l, 3), &added_at))
		return HAUL_BAD_VALUE;
	st = device_id_parse(field(l, 1), id, NULL);
	if (haul_ok(st))
		st = pins_add(pins, id, field(l, 2), field(l, 4), added_at, NULL);
	if (haul_failed(st))
		return st;
	if (pins->count == before)
		return HAUL_BAD_VALUE; /* twice */
	(void)snprintf(current, PIN_NAME_MAX + 1, "%s", field(l, 2));
	return HAUL_OK;
}

static haul_status read_allow(struct pins *pins, const struct line *l, const char *current)
{
	uint64_t rights;
	haul_status st;

	if (!has_fields(l, 3))
		return HAUL_BAD_VALUE;
	st = rights_parse(field(l, 2), &rights, NULL);
	return haul_failed(st) ? st : pins_allow(pins, current, field(l, 1), rights, NULL);
}

static haul_status read_quota(struct pins *pins, const struct line *l, const char *current)
{
	struct quota_limit quota;
	uint64_t every_s;

	if (!has_fields(l, 5) || !parse_number(field(l, 2), UINT64_MAX, &quota.bytes) || !quota.bytes ||
	    !parse_time(field(l, 3), &quota.since_s) || !parse_number(field(l, 4), UINT32_MAX, &every_s))
		return HAUL_BAD_VALUE;
	quota.every_s = (uint32_t)every_s;
	return pins_quota(pins, current, field(l, 1), &quota, NULL);
}

/* `current` is the name of the device that the record belongs to, "" before the first. */
static haul_status read_line(struct pins *pins, const struct line *l, char current[PIN_NAME_MAX + 1])
{
	const char *word = field(l, 0);

	if (strcmp(word, "peer") == 0)
		return read_peer(pins, l, current);
	if (strcmp(word, "address") == 0 && has_fields(l, 2))
		return pins_add_address(pins, current, field(l, 1), NULL);
	if (strcmp(word, "allow") == 0)
		return read_allow(pins, l, current);
	if (strcmp(word, "quota") == 0)
		return read_quota(pins, l, current);
	return HAUL_BAD_VALUE;
}

static haul_status read_lines(const struct record_file *file, struct pins *pins, struct haul_fault *fault)
{
	char current[PIN_NAME_MAX + 1] = "";
	struct line l = { .file = file };

	for (; l.number < record_file_lines(file); l.number++) {
		haul_status st = read_line(pins, &l, current);

		if (st.code == HAUL_CODE_NO_MEMORY)
			return haul_fault_set(fault, st, "read the list of peers");
		if (haul_failed(st))
			return haul_fault_set(fault, HAUL_UNREADABLE_PINS,
					      "the list of peers is not understood in line %zu; nobody is known",
					      l.number + 2);
	}
	return HAUL_OK;
}

haul_status pins_load(int dir_fd, struct pins *ret_pins, struct haul_fault *fault)
{
	struct pins pins = { .items = NULL };
	struct haul_fault why = { .status = HAUL_OK };
	struct record_file *file;
	haul_status st = record_file_read(dir_fd, FILE_NAME, FORMAT, &file, &why);

	if (st.code == HAUL_CODE_NOT_FOUND) {
		*ret_pins = pins;
		return HAUL_OK;
	}
	if (st.code == HAUL_CODE_NO_MEMORY)
		return haul_fault_set(fault, st, "%s", why.text);
	if (haul_failed(st))
		return haul_fault_set(fault, HAUL_UNREADABLE_PINS,
				      "the list of peers is unreadable, so nobody is known: %.400s", why.text);
	st = read_lines(file, &pins, fault);
	record_file_free(file);
	if (haul_failed(st)) {
		pins_close(&pins);
		return st;
	}
	*ret_pins = pins;
	return HAUL_OK;
}

static void write_quota(struct record_writer *w, const struct pin_right *right)
{
	const struct quota_limit *q = &right->quota;
	char text[32];

	if (!q->bytes)
		return;
	record_writer_line(w);
	record_writer_field(w, "quota");
	record_writer_field(w, right->share);
	(void)snprintf(text, sizeof(text), "%" PRIu64, q->bytes);
	record_writer_field(w, text);
	(void)snprintf(text, sizeof(text), "%" PRId64, q->since_s);
	record_writer_field(w, text);
	(void)snprintf(text, sizeof(text), "%" PRIu32, q->every_s);
	record_writer_field(w, text);
}

static void write_pin(struct record_writer *w, const struct pin *pin)
{
	char text[DEVICE_ID_TEXT_MAX + RIGHTS_TEXT_MAX];

	record_writer_line(w);
	record_writer_field(w, "peer");
	record_writer_field(w, device_id_text(pin->id, text));
	record_writer_field(w, pin->name);
	(void)snprintf(text, sizeof(text), "%" PRId64, pin->added_at);
	record_writer_field(w, text);
	record_writer_field(w, pin->method);
	for (size_t i = 0; i < pin->address_count; i++) {
		record_writer_line(w);
		record_writer_field(w, "address");
		record_writer_field(w, pin->addresses[i]);
	}
	for (size_t i = 0; i < pin->right_count; i++) {
		record_writer_line(w);
		record_writer_field(w, "allow");
		record_writer_field(w, pin->rights[i].share);
		record_writer_field(w, rights_words(pin->rights[i].rights, text));
		write_quota(w, &pin->rights[i]);
	}
}

haul_status pins_save(const struct pins *pins, int dir_fd, struct haul_fault *fault)
{
	struct record_writer *w = record_writer_new(FORMAT);
	haul_status st;

	if (!w)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "write the list of peers");
	for (size_t i = 0; i < pins->count; i++)
		write_pin(w, &pins->items[i]);
	st = record_writer_commit(w, dir_fd, FILE_NAME, fault);
	record_writer_free(w);
	return st;
}

haul_status pins_lock(int dir_fd, int *ret_lock_fd, struct haul_fault *fault)
{
	return record_lock(dir_fd, FILE_NAME, ret_lock_fd, fault);
}
