/* A skip that says why: tests/run.sh lists the lines that begin with "skipped: " at its end. Include after cmocka.h. */
#ifndef HAUL_TESTS_SKIP_BECAUSE_H
#define HAUL_TESTS_SKIP_BECAUSE_H

#define skip_because(...)                                                                                              \
	do {                                                                                                           \
		print_message("skipped: " __VA_ARGS__);                                                                \
		print_message("\n");                                                                                   \
		skip();                                                                                                \
	} while (0)

#endif
