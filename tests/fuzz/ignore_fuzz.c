/*
 * A pattern and a path, apart at the first NUL. Whatever they are, the answer comes within the bounds of a match and is
 * the same twice; a pattern without special bytes matches exactly itself.
 */
#include "agent/ignore_pattern.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct ignore_pattern *p, struct ignore_matcher *m, const char *path, size_t len)
{
	for (int is_directory = 0; is_directory < 2; is_directory++) {
		bool first = false, second = false;
		haul_status st = ignore_pattern_match(p, m, path, len, is_directory, &first);

		assert(haul_ok(st) || st.code == HAUL_CODE_OVERFLOW || st.code == HAUL_CODE_NO_MEMORY);
		assert(ignore_pattern_match(p, m, path, len, is_directory, &second).code == st.code);
		assert(first == second);
		assert(!first || is_directory || !p->wants_directory);
		if (p->form == IGNORE_NAME && p->is_path)
			assert(first == (len == p->text_len && !memcmp(path, p->text, len) &&
					 (is_directory || !p->wants_directory)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	const char *nul = len ? memchr(data, '\0', len) : NULL;
	size_t pattern_len = nul ? (size_t)(nul - text) : len, used = 0;
	struct ignore_matcher *m = ignore_matcher_new();
	struct ignore_pattern p;

	assert(m);
	if (len && ignore_line(text, pattern_len, &used))
		assert(used > 0 && used <= pattern_len);
	if (len && haul_ok(ignore_pattern_open(&p, text, pattern_len))) {
		if (nul && pattern_len + 1 < len)
			check(&p, m, nul + 1, len - pattern_len - 1);
		ignore_pattern_close(&p);
	}
	ignore_matcher_free(m);
	return 0;
}
