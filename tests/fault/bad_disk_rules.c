#include "tests/fault/bad_disk_rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { RULES_MAX = 32, PATTERN_MAX = 512 };

enum deed { DEED_FAIL, DEED_SLOW, DEED_SHORT };

struct rule {
	char op[16], pattern[PATTERN_MAX];
	enum deed deed;
	int number; /* errno, or milliseconds */
	uint64_t from, to, after, times;
};

static struct {
	pthread_mutex_t lock;
	const char *path;
	FILE *log;
	struct stat seen;
	struct rule rules[RULES_MAX];
	unsigned count;
} book = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- reading them ---- */

static int errno_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} known[] = { { "EIO", EIO },
		      { "ENOSPC", ENOSPC },
		      { "EDQUOT", EDQUOT },
		      { "EROFS", EROFS },
		      { "EPERM", EPERM },
		      { "EACCES", EACCES },
		      { "EINVAL", EINVAL },
		      { "ENOSYS", ENOSYS },
		      { "ENOENT", ENOENT },
		      { "ESTALE", ESTALE },
		      { "ENAMETOOLONG", ENAMETOOLONG },
		      { "EOPNOTSUPP", EOPNOTSUPP } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].name, name))
			return known[i].number;
	}
	return 0;
}

static void wrong(const char *word)
{
	fprintf(stderr, "haul_bad_disk: no rule can have %s\n", word);
	exit(2);
}

static void read_deed(const char *word, struct rule *r)
{
	if (!strcmp(word, "short")) {
		r->deed = DEED_SHORT;
	} else if (!strncmp(word, "slow=", 5)) {
		r->deed = DEED_SLOW;
		r->number = atoi(word + 5);
	} else {
		r->number = errno_of(word);
		if (!r->number)
			wrong(word);
	}
}

static void read_key(const char *word, struct rule *r)
{
	unsigned long long n;

	if (sscanf(word, "from=%llu", &n) == 1)
		r->from = n;
	else if (sscanf(word, "to=%llu", &n) == 1)
		r->to = n;
	else if (sscanf(word, "after=%llu", &n) == 1)
		r->after = n;
	else if (sscanf(word, "times=%llu", &n) == 1)
		r->times = n;
	else
		wrong(word);
}

static void read_rule(char *line)
{
	struct rule r = { .to = UINT64_MAX, .times = UINT64_MAX };
	char *rest, *word = strtok_r(line, " \n", &rest);

	for (int i = 0; word; i++, word = strtok_r(NULL, " \n", &rest)) {
		if (i == 0)
			(void)snprintf(r.op, sizeof(r.op), "%s", word);
		else if (i == 1)
			(void)snprintf(r.pattern, sizeof(r.pattern), "%s", word);
		else if (i == 2)
			read_deed(word, &r);
		else
			read_key(word, &r);
	}
	if (r.op[0] && book.count < RULES_MAX)
		book.rules[book.count++] = r;
}

static void refresh(void)
{
	char line[PATTERN_MAX + 128];
	struct stat now;
	FILE *file;

	if (stat(book.path, &now) ||
	    (now.st_ino == book.seen.st_ino && now.st_size == book.seen.st_size &&
	     now.st_mtim.tv_sec == book.seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == book.seen.st_mtim.tv_nsec))
		return;
	book.seen = now;
	book.count = 0;
	file = fopen(book.path, "re");
	while (file && fgets(line, sizeof(line), file))
		read_rule(line);
	if (file)
		(void)fclose(file);
}

void rules_open(const char *path, const char *log_path)
{
	book.path = path;
	book.log = fopen(log_path, "ae");
	if (!book.log) {
		perror(log_path);
		exit(2);
	}
	setvbuf(book.log, NULL, _IOLBF, 0);
}

/* ---- asking them ---- */

static bool fits(const struct rule *r, const char *op, const char *path, uint64_t offset, const size_t *len)
{
	bool changes = strcmp(op, "read") && strcmp(op, "readdir") && strcmp(op, "open") && strcmp(op, "flush");

	if (strcmp(r->op, op) && !(changes && !strcmp(r->op, "change")))
		return false;
	if (len && (offset >= r->to || offset + *len <= r->from))
		return false;
	return fnmatch(r->pattern, path, 0) == 0;
}

/* The rule that strikes now, or NULL; counted and noted. */
static const struct rule *take(const char *op, const char *path, uint64_t offset, const size_t *len)
{
	for (struct rule *r = book.rules; r < book.rules + book.count; r++) {
		if (!r->times || !fits(r, op, path, offset, len))
			continue;
		if (r->after) {
			r->after--;
			continue;
		}
		r->times -= r->times != UINT64_MAX;
		fprintf(book.log, "%s %s %llu %s\n", op, path, (unsigned long long)offset,
			r->deed == DEED_FAIL   ? strerrorname_np(r->number)
			: r->deed == DEED_SLOW ? "slow"
					       : "short");
		return r;
	}
	return NULL;
}

int rules_ask(const char *op, const char *path, uint64_t offset, size_t *len)
{
	const struct rule *found;
	struct rule r = { .deed = DEED_SLOW };

	pthread_mutex_lock(&book.lock);
	refresh();
	found = take(op, path, offset, len);
	if (found)
		r = *found;
	pthread_mutex_unlock(&book.lock);
	if (r.deed == DEED_FAIL)
		return -r.number;
	if (r.deed == DEED_SHORT && len)
		*len = (*len + 1) / 2;
	if (r.deed == DEED_SLOW && r.number)
		(void)nanosleep(&(struct timespec){ r.number / 1000, (long)(r.number % 1000) * 1000000 }, NULL);
	return 0;
}
