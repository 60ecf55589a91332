/*
 * Names of files are bytes; what a person reads is text. Every name that is printed, logged or put into a fault goes
 * through here first.
 */
#ifndef HAUL_BASE_ESCAPE_H
#define HAUL_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

enum { HAUL_ESCAPED_MAX = 2048 };

/*
 * The printable form of `len` bytes: themselves when they are printable UTF-8, else $'...' in the shell's notation with
 * C0, DEL, C1, invalid UTF-8, bidirectional and zero-width characters, quote and backslash escaped.
 *
 * ret_text   receives at most `cap` bytes with the final NUL; too long a name is cut, with "..." at the end.
 * Returns ret_text.
 */
const char *haul_escape(const char *name, size_t len, char *ret_text, size_t cap);

/* Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
bool haul_is_utf8(const char *name, size_t len);

#endif
