/*
 * The limits that a copy is measured against: read one file and write another with nothing in between, no network, hash
 * or cipher. Prints the seconds from open to fsync of the target.
 *
 * Usage: haul_limit [-m MODE] [-r READS] [-w WRITES] [-b BLOCK_MIB] [-n BLOCKS] [-s SPACE] [-4]
 *                   SOURCE TARGET
 *   MODE   mixed     reads and writes at once, direct, 16 blocks of 4 MiB, up to 16 of each in flight (default)
 *          phased    64 MiB read, then written, in turns, direct
 *          buffered  through the page cache, by copy_file_range as cp does
 *          read      the source alone, direct (TARGET is left alone: give -)
 *          write     the target alone, direct, as many bytes as SOURCE has
 *   SPACE  size      all of it allocated and the size set before the first write (default)
 *          keep      allocated, the size grows with the writes
 *          none      neither: blocks are allocated by the writes
 *   -4     buffers of ordinary pages: a request of 4 MiB is then cut where a device takes few segments
 */
#include "limit_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS_MAX = 256, BLOCK_MIB_MAX = 64 };

enum space { SPACE_SIZE, SPACE_KEEP, SPACE_NONE };

struct options {
	struct limit_config config;
	enum space space;
	const char *source, *target;
};

void limit_fail(const char *format, ...)
{
	int code = errno;
	va_list args;

	va_start(args, format);
	fputs("haul_limit: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(code));
	exit(1);
}

static void usage(void)
{
	fputs("usage: haul_limit [-m mixed|phased|buffered|read|write] [-r READS] [-w WRITES] [-b BLOCK_MIB]\n"
	      "                  [-n BLOCKS] [-s size|keep|none] [-4] SOURCE TARGET\n",
	      stderr);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Index of `word` in the `count` words; a word that is none of them ends the program. */
static unsigned choice_of(const char *word, const char *const *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	usage();
	return 0;
}

static unsigned number_of(const char *text, unsigned max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || n == 0 || n > max)
		usage();
	return (unsigned)n;
}

static void parse(struct options *o, int argc, char **argv)
{
	static const char *const modes[] = { "mixed", "phased", "read", "write", "buffered" };
	static const char *const spaces[] = { "size", "keep", "none" };
	struct limit_config *c = &o->config;
	int letter;

	*o = (struct options){ .config = { .blocks = 16, .block_bytes = 4u << 20 } };
	while ((letter = getopt(argc, argv, "m:r:w:b:n:s:4")) != -1) {
		switch (letter) {
		case 'm':
			c->mode = (enum limit_mode)choice_of(optarg, modes, 5);
			break;
		case 'r':
			c->reads_at_once = number_of(optarg, BLOCKS_MAX);
			break;
		case 'w':
			c->writes_at_once = number_of(optarg, BLOCKS_MAX);
			break;
		case 'b':
			c->block_bytes = number_of(optarg, BLOCK_MIB_MAX) << 20;
			break;
		case 'n':
			c->blocks = number_of(optarg, BLOCKS_MAX);
			break;
		case 's':
			o->space = (enum space)choice_of(optarg, spaces, 3);
			break;
		case '4':
			c->is_small_pages = true;
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 2)
		usage();
	if (c->reads_at_once == 0 || c->reads_at_once > c->blocks)
		c->reads_at_once = c->blocks;
	if (c->writes_at_once == 0 || c->writes_at_once > c->blocks)
		c->writes_at_once = c->blocks;
	o->source = argv[optind];
	o->target = argv[optind + 1];
}

static void open_both(struct options *o)
{
	struct limit_config *c = &o->config;
	int direct = c->mode == LIMIT_BUFFERED ? 0 : O_DIRECT;
	struct stat st;

	c->source = open(o->source, O_RDONLY | O_CLOEXEC | direct);
	if (c->source < 0 || fstat(c->source, &st) < 0)
		limit_fail("%s", o->source);
	c->size = (uint64_t)st.st_size;
	c->target = -1;
	if (c->mode == LIMIT_READ)
		return;
	c->target = open(o->target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | direct, 0600);
	if (c->target < 0)
		limit_fail("%s", o->target);
	if (c->mode == LIMIT_BUFFERED || o->space == SPACE_NONE || c->size == 0)
		return;
	if (fallocate(c->target, o->space == SPACE_KEEP ? FALLOC_FL_KEEP_SIZE : 0, 0, st.st_size) < 0)
		limit_fail("%s: fallocate", o->target);
}

static void copy_buffered(const struct limit_config *c)
{
	uint64_t done = 0;

	while (done < c->size) {
		ssize_t n = copy_file_range(c->source, NULL, c->target, NULL, (size_t)(c->size - done), 0);

		if (n < 0)
			limit_fail("copy_file_range");
		if (n == 0)
			break; /* the source has become shorter */
		done += (uint64_t)n;
	}
}

int main(int argc, char **argv)
{
	struct options o;
	double began;

	parse(&o, argc, argv);
	began = now();
	open_both(&o);
	if (o.config.mode == LIMIT_BUFFERED)
		copy_buffered(&o.config);
	else
		limit_ring_run(&o.config);
	if (o.config.target >= 0) {
		if (ftruncate(o.config.target, (off_t)o.config.size) < 0 || fsync(o.config.target) < 0)
			limit_fail("%s", o.target);
		close(o.config.target);
	}
	close(o.config.source);
	printf("%.3f\n", now() - began);
	return 0;
}
