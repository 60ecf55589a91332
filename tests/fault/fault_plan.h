/*
 * What a preloaded fault library is asked to do, from the environment of the process:
 *
 *     HAUL_FAULT_KINDS   which calls count: any of disk, read, net, memory, with commas between them
 *     HAUL_FAULT_ROOT    directories, with colons between them: disk and read count below these alone
 *     HAUL_FAULT_AT      the call that is hit, from 1; 0 or nothing: calls are only counted
 *     HAUL_FAULT_DEED    kill-before, kill-after, short, or the name of an errno; abort, to see on
 *                        stderr where a call comes from
 *     HAUL_FAULT_COUNT   a file of 16 bytes that says, also after a kill, how many calls there were and whether
 *                        one was hit
 *     HAUL_FAULT_LOG     a file for the recorder; what was written goes to the same name with .data behind it
 *     HAUL_FAULT_SPARED  FROM-TO, addresses of the program's own: what asks for memory from there is not counted
 *     HAUL_FAULT_SYNC_MS how long a sync takes in addition: who does not wait for it is found out
 *
 * One call is hit, once. Nothing here allocates, and it calls the kernel itself: it stands below malloc and the wrapped
 * calls.
 */
#ifndef HAUL_TESTS_FAULT_PLAN_H
#define HAUL_TESTS_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fault_kind { FAULT_DISK = 1, FAULT_READ = 2, FAULT_NET = 4, FAULT_MEMORY = 8 };

enum fault_deed { DEED_NONE, DEED_KILL_BEFORE, DEED_KILL_AFTER, DEED_SHORT, DEED_ABORT, DEED_ERRNO };

struct fault_plan {
	unsigned kinds; /* of enum fault_kind */
	const char *root;
	uint64_t at;
	enum fault_deed deed;
	int err;         /* DEED_ERRNO */
	const char *log; /* NULL: nothing is recorded */
	unsigned sync_ms;
	bool is_ready; /* before, every call goes its way */
};

extern struct fault_plan fault_plan;

/* Count one call of a kind that counts; the deed if it is this one's turn. Any thread. */
enum fault_deed fault_turn(enum fault_kind kind);

/* SIGKILL to the whole process, at once. */
_Noreturn void fault_die(void);

/* Whether the path, absolute, is one of the roots or lies below one. */
bool fault_is_below(const char *path);

#endif
