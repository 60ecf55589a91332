/* Letters of rsync(1), "--itemize-changes": update type, kind, then c s t p o g u a x. */
#include "cli/changes.h"

#include "engine/base/escape.h"

#include <stdio.h>
#include <string.h>

static char kind_letter(enum entry_kind kind)
{
	switch (kind) {
	case ENTRY_FILE:
		return 'f';
	case ENTRY_DIRECTORY:
		return 'd';
	case ENTRY_LINK:
		return 'L';
	case ENTRY_CHAR_DEVICE:
	case ENTRY_BLOCK_DEVICE:
		return 'D';
	case ENTRY_FIFO:
	case ENTRY_SOCKET:
		return 'S';
	}
	return '?';
}

const char *changes_itemized(const struct transfer_entry *e, bool is_push, char ret_text[CHANGES_TEXT_MAX])
{
	bool is_new = e->changes & TRANSFER_CREATED;

	if (e->changes & TRANSFER_DELETED) {
		(void)snprintf(ret_text, CHANGES_TEXT_MAX, "*deleting  ");
		return ret_text;
	}
	memset(ret_text, is_new ? '+' : '.', CHANGES_TEXT_MAX - 1);
	ret_text[CHANGES_TEXT_MAX - 1] = '\0';
	ret_text[1] = kind_letter(e->kind);
	if (e->kind != ENTRY_FILE)
		ret_text[0] = e->changes & (TRANSFER_CREATED | TRANSFER_CONTENT | TRANSFER_KIND) ? 'c' : '.';
	else if (e->changes & (TRANSFER_CREATED | TRANSFER_CONTENT | TRANSFER_KIND | TRANSFER_SIZE))
		ret_text[0] = is_push ? '<' : '>';
	else
		ret_text[0] = '.';
	if (is_new)
		return ret_text;
	if (e->changes & (TRANSFER_CONTENT | TRANSFER_KIND))
		ret_text[2] = 'c';
	if (e->changes & TRANSFER_SIZE)
		ret_text[3] = 's';
	if (e->changes & TRANSFER_TIME)
		ret_text[4] = 't';
	if (e->changes & TRANSFER_MODE)
		ret_text[5] = 'p';
	if (e->changes & TRANSFER_OWNER)
		ret_text[6] = 'o';
	if (e->changes & TRANSFER_GROUP)
		ret_text[7] = 'g';
	if (e->changes & TRANSFER_ACL)
		ret_text[9] = 'a';
	if (e->changes & TRANSFER_ATTRIBUTES)
		ret_text[10] = 'x';
	return ret_text;
}

bool changes_is_difference(const struct transfer_entry *e)
{
	return e->changes & (TRANSFER_MISSING | TRANSFER_CONTENT | TRANSFER_SIZE | TRANSFER_KIND);
}

/* "time, mode and ACL differ" */
static void metadata_text(uint32_t changes, char *ret_text, size_t cap)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} parts[] = { { TRANSFER_TIME, "time" },   { TRANSFER_MODE, "mode" },
		      { TRANSFER_OWNER, "owner" }, { TRANSFER_GROUP, "group" },
		      { TRANSFER_ACL, "ACL" },     { TRANSFER_ATTRIBUTES, "extended attributes" } };
	uint32_t left = changes & (TRANSFER_TIME | TRANSFER_MODE | TRANSFER_OWNER | TRANSFER_GROUP | TRANSFER_ACL |
				   TRANSFER_ATTRIBUTES);
	bool is_one = !(left & (left - 1)) && !(left & TRANSFER_ATTRIBUTES);
	int len = 0;

	if (!left)
		len = snprintf(ret_text, cap, "metadata");
	for (size_t i = 0; left && i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *between = !len ? "" : left == parts[i].bit ? " and " : ", ";

		if (!(left & parts[i].bit))
			continue;
		left &= ~parts[i].bit;
		len += snprintf(ret_text + len, cap - (size_t)len, "%s%s", between, parts[i].name);
	}
	(void)snprintf(ret_text + len, cap - (size_t)len, is_one ? " differs" : " differ");
}

static void difference_text(const struct transfer_entry *e, char *ret_text, size_t cap)
{
	if (e->changes & TRANSFER_MISSING)
		(void)snprintf(ret_text, cap, "missing at the destination");
	else if (e->changes & TRANSFER_SURPLUS)
		(void)snprintf(ret_text, cap, "only at the destination");
	else if (e->changes & TRANSFER_KIND)
		(void)snprintf(ret_text, cap, "another kind of file");
	else if (changes_is_difference(e) && e->has_offset)
		(void)snprintf(ret_text, cap, "content differs from byte %llu", (unsigned long long)e->offset);
	else if (changes_is_difference(e))
		(void)snprintf(ret_text, cap, e->kind == ENTRY_LINK ? "points elsewhere" : "content differs");
	else
		metadata_text(e->changes, ret_text, cap);
}

const char *changes_compared(const struct transfer_entry *e, char *ret_text, size_t cap)
{
	char what[80], path[HAUL_ESCAPED_MAX];
	const char *name = *e->path ? e->path : ".";

	difference_text(e, what, sizeof(what));
	(void)snprintf(ret_text, cap, "%s: %s", what, haul_escape(name, strlen(name), path, sizeof(path)));
	return ret_text;
}

const char *entry_kind_text(enum entry_kind kind)
{
	switch (kind) {
	case ENTRY_FILE:
		return "file";
	case ENTRY_DIRECTORY:
		return "directory";
	case ENTRY_LINK:
		return "link";
	case ENTRY_FIFO:
		return "fifo";
	case ENTRY_SOCKET:
		return "socket";
	case ENTRY_CHAR_DEVICE:
		return "character device";
	case ENTRY_BLOCK_DEVICE:
		return "block device";
	}
	return "unknown";
}
