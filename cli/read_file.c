/* In growing pieces: a pipe has no length. */
#include "cli/read_file.h"

#include "engine/base/escape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static haul_status failed(const char *option, const char *path, const char *why, struct problem *problem)
{
	char shown[HAUL_ESCAPED_MAX / 8];

	return problem_usage(problem, NULL, "%s=%s: %s", option, haul_escape(path, strlen(path), shown, sizeof(shown)),
			     why);
}

static haul_status read_all(FILE *f, size_t most, char **ret_data, size_t *ret_len)
{
	size_t len = 0, cap = 0, got;
	char *data = NULL;

	do {
		if (len + 1 >= cap) {
			char *more = realloc(data, cap = 2 * cap + 4096);

			if (!more) {
				free(data);
				return HAUL_NO_MEMORY;
			}
			data = more;
		}
		got = fread(data + len, 1, cap - len - 1, f);
		len += got;
	} while (got && len <= most);
	if (ferror(f) || len > most) {
		free(data);
		return ferror(f) ? HAUL_IO : HAUL_OVERFLOW;
	}
	data[len] = '\0';
	*ret_data = data;
	*ret_len = len;
	return HAUL_OK;
}

haul_status read_file(const char *option, const char *path, size_t most, char **ret_data, size_t *ret_len,
		      struct problem *problem)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *f = is_stdin ? stdin : fopen(path, "re");
	haul_status st;
	int err;

	if (!f)
		return failed(option, path, strerror(errno), problem);
	errno = 0;
	st = read_all(f, most, ret_data, ret_len);
	err = errno;
	if (!is_stdin)
		(void)fclose(f);
	if (st.code == HAUL_CODE_NO_MEMORY)
		return problem_no_memory(problem);
	if (st.code == HAUL_CODE_OVERFLOW)
		return failed(option, path, "it is longer than what a job may have of these", problem);
	return haul_failed(st) ? failed(option, path, err ? strerror(err) : "it cannot be read", problem) : HAUL_OK;
}
