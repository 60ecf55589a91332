/*
 * An attacker for the tests of confinement: exchange two names for as long as it lives, some thousand times a second.
 *
 * Usage: haul_swap ONE TWO
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 150000 };

	if (argc != 3) {
		fprintf(stderr, "usage: haul_swap ONE TWO\n");
		return 1;
	}
	for (;;) {
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) < 0 && errno != ENOENT) {
			fprintf(stderr, "haul_swap: %s\n", strerror(errno));
			return 1;
		}
		nanosleep(&pause, NULL);
	}
}
