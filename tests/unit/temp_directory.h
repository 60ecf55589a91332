/* A directory for one test's files, removed with all that is in it. */
#ifndef HAUL_TESTS_TEMP_DIRECTORY_H
#define HAUL_TESTS_TEMP_DIRECTORY_H

struct temp_directory {
	char path[64]; /* absolute */
};

/* Made under $TMPDIR or /tmp, mode 0700. Failure ends the test. */
void temp_directory_open(struct temp_directory *t);
void temp_directory_close(struct temp_directory *t);

/* PATH/name in a buffer of the object's own ring of eight: good for the next seven calls. */
const char *temp_path(const struct temp_directory *t, const char *name);

/* A file with that text. Failure ends the test. */
void temp_write(const struct temp_directory *t, const char *name, const char *text);

#endif
