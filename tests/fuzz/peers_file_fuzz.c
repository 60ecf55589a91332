/*
 * The list of peers from disk. The first byte chooses: the rest is the whole file, or it is the lines between a right
 * head and a right checksum. What is accepted must be saved and read back.
 */
#include "certs/pins.h"
#include "engine/base/record_text.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 16 };

#define HEAD "haul-peers 1\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir_path[] = "/tmp/haul-fuzz-XXXXXX";
static int dir_fd = -1;

static void remove_dir(void)
{
	(void)unlinkat(dir_fd, "peers", 0);
	(void)rmdir(dir_path);
}

static void make_dir(void)
{
	assert(mkdtemp(dir_path));
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(dir_fd >= 0);
	(void)atexit(remove_dir);
}

static void put_file(const char *text, size_t len)
{
	int fd = openat(dir_fd, "peers", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert(fd >= 0);
	assert(write(fd, text, len) == (ssize_t)len);
	(void)close(fd);
}

static void put_framed(const uint8_t *lines, size_t len)
{
	static char text[FILE_MAX + sizeof(HEAD) + RECORD_SUM_BYTES];
	size_t n = sizeof(HEAD) - 1;

	memcpy(text, HEAD, n);
	memcpy(text + n, lines, len);
	n += len;
	record_sum_text(text, n, text + n);
	put_file(text, n + RECORD_SUM_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pins pins;
	struct pins again;
	struct haul_fault fault;

	if (dir_fd < 0)
		make_dir();
	if (size == 0 || size > FILE_MAX)
		return 0;
	if (data[0] & 1)
		put_framed(data + 1, size - 1);
	else
		put_file((const char *)data + 1, size - 1);
	if (haul_failed(pins_load(dir_fd, &pins, &fault)))
		return 0;
	assert(haul_ok(pins_save(&pins, dir_fd, &fault)));
	assert(haul_ok(pins_load(dir_fd, &again, &fault)));
	assert(again.count == pins.count);
	pins_close(&again);
	pins_close(&pins);
	return 0;
}
