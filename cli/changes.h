/* What happened to one entry, in one line: as `rsync -i` writes it for a copy, in words for a comparison. */
#ifndef HAUL_CLI_CHANGES_H
#define HAUL_CLI_CHANGES_H

#include "agent/transfer.h"

enum { CHANGES_TEXT_MAX = 12 };

/* ">f.st.......": eleven characters. is_push: the entry goes to the peer ('<'), else it comes here ('>'). */
const char *changes_itemized(const struct transfer_entry *e, bool is_push, char ret_text[CHANGES_TEXT_MAX]);

/*
 * For verify: "missing: PATH", "content differs from byte 1048576: PATH", "only at the destination: PATH",
 * "times and mode differ: PATH". Returns ret_text; the path in it is escaped.
 */
const char *changes_compared(const struct transfer_entry *e, char *ret_text, size_t cap);

/* Whether the entry's content is missing or different, which makes verify's exit code 4. */
bool changes_is_difference(const struct transfer_entry *e);

/* "file", "directory", ... as in JSON events. */
const char *entry_kind_text(enum entry_kind kind);

#endif
