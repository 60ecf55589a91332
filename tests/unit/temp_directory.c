#include "tests/unit/temp_directory.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void temp_directory_open(struct temp_directory *t)
{
	const char *base = getenv("TMPDIR");

	assert_true(
	    snprintf(t->path, sizeof(t->path), "%s/haul-unit-XXXXXX", base && strlen(base) < 40 ? base : "/tmp") > 0);
	assert_non_null(mkdtemp(t->path));
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
	(void)facts;
	(void)kind;
	(void)where;
	return remove(path);
}

void temp_directory_close(struct temp_directory *t)
{
	assert_int_equal(nftw(t->path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char *temp_path(const struct temp_directory *t, const char *name)
{
	static char ring[8][512];
	static unsigned next;
	char *path = ring[next++ % 8];

	assert_true(snprintf(path, sizeof(ring[0]), "%s/%s", t->path, name) < (int)sizeof(ring[0]));
	return path;
}

void temp_write(const struct temp_directory *t, const char *name, const char *text)
{
	FILE *f = fopen(temp_path(t, name), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}
