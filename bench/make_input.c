/*
 * Makes what the workloads copy: files of bytes that no compressor shortens, in directories, always the same names,
 * sizes, bytes and times for the same arguments.
 *
 * Usage: haul_make_input [-d DIRECTORIES] [-l LEVELS] [-n FILES] [-s MIN[:MAX]] [-x SUFFIX] [-S SEED] DIR
 *   -d   directories that hold files (default 1: DIR itself), spread over -l levels (default 1)
 *   -n   files in each of them (default 1)
 *   -s   bytes of a file; with MAX each size between is as likely per decade as any other (few large, many small)
 *   -x   end of each file's name (default .bin)
 *
 * DIR is made unless it is there; what is already in it stays. Ends with 1 and a line on stderr on any error.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_WORDS = 1 << 17, LEVELS_MAX = 6, DAY_S = 86400 };

/* 2026-01-01: files of one tree lie within days of it, so that two runs make the same times. */
static const time_t FIRST_DAY = 1767225600;

struct input {
	unsigned long directories, levels, files;
	unsigned long long size_min, size_max;
	const char *suffix;
	uint64_t seed;
	const char *top;
};

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "haul_make_input: %s: %s\n", what, strerror(errno));
	exit(1);
}

__attribute__((noreturn)) static void usage(void)
{
	fputs(
	    "usage: haul_make_input [-d DIRECTORIES] [-l LEVELS] [-n FILES] [-s MIN[:MAX]] [-x SUFFIX] [-S SEED] DIR\n",
	    stderr);
	exit(1);
}

/* splitmix64, by its public constants */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static unsigned long long size_of(const struct input *in, uint64_t *state)
{
	double from = (double)in->size_min + 1, to = (double)in->size_max + 1;
	double part = (double)(random_next(state) >> 11) / 9007199254740992.0; /* 2^53 */

	if (in->size_max <= in->size_min)
		return in->size_min;
	return (unsigned long long)(from * pow(to / from, part)) - 1;
}

static void write_all(int fd, const void *from, size_t bytes, const char *name)
{
	const char *p = from;

	while (bytes > 0) {
		ssize_t n = write(fd, p, bytes);

		if (n < 0)
			fail(name);
		p += n;
		bytes -= (size_t)n;
	}
}

static void make_file(const struct input *in, const char *name, uint64_t number)
{
	static uint64_t chunk[CHUNK_WORDS];
	uint64_t state = in->seed * UINT64_C(0x100000001b3) + number;
	unsigned long long left = size_of(in, &state);
	struct timespec times[2];
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		fail(name);
	while (left > 0) {
		size_t take = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);

		for (size_t i = 0; i < (take + 7) / 8; i++)
			chunk[i] = random_next(&state);
		write_all(fd, chunk, take, name);
		left -= take;
	}
	times[0] = (struct timespec){ .tv_sec = FIRST_DAY + (time_t)(number % (30 * DAY_S)) };
	times[1] = times[0];
	if (futimens(fd, times) < 0 || close(fd) < 0)
		fail(name);
}

/* "3/1/4" for directory 314 of 3 levels with ten branches; the branches are as many as the levels need. */
static void make_directory(const struct input *in, unsigned long number, char *path, size_t cap)
{
	unsigned long branches = (unsigned long)ceil(pow((double)in->directories, 1.0 / (double)in->levels) - 1e-9);
	unsigned long digits[LEVELS_MAX], rest = number;
	int used = snprintf(path, cap, "%s", in->top);

	for (unsigned long level = 0; level < in->levels; level++) {
		digits[level] = rest % branches;
		rest /= branches;
	}
	for (unsigned long level = in->levels; in->directories > 1 && level-- > 0;) {
		if (used < 0 || (size_t)used >= cap) {
			errno = ENAMETOOLONG;
			fail(in->top);
		}
		used += snprintf(path + used, cap - (size_t)used, "/d%03lu", digits[level]);
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			fail(path);
	}
}

static void make_all(const struct input *in)
{
	char directory[3000], name[4000];

	if (mkdir(in->top, 0755) < 0 && errno != EEXIST)
		fail(in->top);
	for (unsigned long d = 0; d < in->directories; d++) {
		make_directory(in, d, directory, sizeof(directory));
		for (unsigned long f = 0; f < in->files; f++) {
			snprintf(name, sizeof(name), "%s/f%06lu%s", directory, f, in->suffix);
			make_file(in, name, d * in->files + f + 1);
		}
	}
}

static unsigned long count_of(const char *text, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || n == 0 || n > max)
		usage();
	return n;
}

static void parse_sizes(struct input *in, const char *text)
{
	char *end;

	in->size_min = in->size_max = strtoull(text, &end, 10);
	if (*end == ':')
		in->size_max = strtoull(end + 1, &end, 10);
	if (*end != '\0' || in->size_max < in->size_min)
		usage();
}

int main(int argc, char **argv)
{
	struct input in = { .directories = 1, .levels = 1, .files = 1, .suffix = ".bin", .seed = 1 };
	int letter;

	while ((letter = getopt(argc, argv, "d:l:n:s:x:S:")) != -1) {
		switch (letter) {
		case 'd':
			in.directories = count_of(optarg, 1000000);
			break;
		case 'l':
			in.levels = count_of(optarg, LEVELS_MAX);
			break;
		case 'n':
			in.files = count_of(optarg, 10000000);
			break;
		case 's':
			parse_sizes(&in, optarg);
			break;
		case 'x':
			in.suffix = optarg;
			break;
		case 'S':
			in.seed = count_of(optarg, 1000000);
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 1)
		usage();
	in.top = argv[optind];
	make_all(&in);
	return 0;
}
