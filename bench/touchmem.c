/*
 * Touch memory and give it back, so that the next program does not pay for the host's handing pages out again: in a
 * guest whose host takes free pages back, the first touch of a page costs many times an ordinary fault.
 *
 * Usage: haul_touchmem GIB
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long gib = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	size_t bytes, page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *p;

	if (gib == 0 || gib > 1024) {
		fprintf(stderr, "usage: haul_touchmem GIB\n");
		return 1;
	}
	bytes = (size_t)gib << 30;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("haul_touchmem: mmap");
		return 1;
	}
	for (size_t i = 0; i < bytes; i += page)
		p[i] = 1;
	munmap(p, bytes);
	return 0;
}
