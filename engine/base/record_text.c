#include "engine/base/record_text.h"

#include "engine/base/crc32.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._:/,+@-", c));
}

void record_sum_text(const char *text, size_t len, char ret_line[RECORD_SUM_BYTES + 1])
{
	(void)snprintf(ret_line, RECORD_SUM_BYTES + 1, "crc32 %08X\n", haul_crc32(text, len));
}

size_t record_byte_encode(char byte, char ret_text[RECORD_BYTE_TEXT_MAX])
{
	if (is_plain(byte)) {
		ret_text[0] = byte;
		return 1;
	}
	return (size_t)snprintf(ret_text, RECORD_BYTE_TEXT_MAX, "%%%02X", (unsigned char)byte);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool record_field_decode(char *field)
{
	const char *from = field;
	char *to = field;

	if (strcmp(field, "%") == 0) {
		*field = '\0';
		return true;
	}
	if (!*from)
		return false; /* an empty field is written "%" */
	while (*from) {
		int high, low;

		if (is_plain(*from)) {
			*to++ = *from++;
			continue;
		}
		if (*from != '%')
			return false;
		high = hex_value(from[1]);
		low = high < 0 ? -1 : hex_value(from[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char)(high << 4 | low);
		from += 3;
	}
	*to = '\0';
	return true;
}
