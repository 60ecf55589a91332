/*
 * Runs a fuzz target over the files of a directory, without libFuzzer. Fails where the directory cannot be read or
 * holds nothing: a replay that tried no input would prove nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole file in memory of exactly its size, so that a read beyond the end is seen by the sanitizers. */
static int replay_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data = NULL;
	long size = -1;
	int done = -1;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "rb");
	if (!file)
		goto out;
	if (fseek(file, 0, SEEK_END) == 0)
		size = ftell(file);
	if (size < 0 || fseek(file, 0, SEEK_SET) != 0)
		goto out;
	data = malloc(size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		goto out;
	done = LLVMFuzzerTestOneInput(data, (size_t)size);
out:
	if (done)
		fprintf(stderr, "%s: not replayed\n", path);
	free(data);
	if (file)
		(void)fclose(file);
	return done;
}

int main(int argc, char **argv)
{
	unsigned tried = 0;
	int failed = 0;
	struct dirent *entry;
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;

	if (!dir) {
		fprintf(stderr, "usage: %s DIRECTORY (it must be readable)\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		failed |= replay_file(argv[1], entry->d_name);
		tried++;
	}
	(void)closedir(dir);
	printf("%u inputs\n", tried);
	return failed || !tried;
}
