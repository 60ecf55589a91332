/* The written form of fields and checksum, for the two halves of record_file.h. */
#ifndef HAUL_BASE_RECORD_TEXT_H
#define HAUL_BASE_RECORD_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum {
	RECORD_SUM_BYTES = 15,   /* "crc32 01234567\n" */
	RECORD_BYTE_TEXT_MAX = 4 /* "%XX" and the NUL */
};

/* The last line for the `len` bytes before it, with a NUL behind. */
void record_sum_text(const char *text, size_t len, char ret_line[RECORD_SUM_BYTES + 1]);

/* The written form of one byte of a field; returns its length, 1 or 3. */
size_t record_byte_encode(char byte, char ret_text[RECORD_BYTE_TEXT_MAX]);

/* Turn a written field into its text, in place. False: not a form that we write; then the content is undefined. */
bool record_field_decode(char *field);

#endif
