/* Read once, by a constructor: what runs before main of the program may already count. */
#include "tests/fault/fault_plan.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In a file, so that it outlives a kill; both are of the machine's byte order. */
struct fault_count {
	_Atomic uint64_t calls, hits;
};

struct fault_plan fault_plan;

static struct fault_count own_count;
static struct fault_count *count = &own_count;

static void map_count(const char *path)
{
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *at;

	if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(*count)) < 0)
		return;
	at = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	(void)syscall(SYS_close, fd);
	if (at != MAP_FAILED)
		count = at;
}

static unsigned kinds_of(const char *text)
{
	static const struct {
		const char *name;
		unsigned kind;
	} kinds[] = {
		{ "disk", FAULT_DISK }, { "read", FAULT_READ }, { "net", FAULT_NET }, { "memory", FAULT_MEMORY }
	};
	unsigned found = 0;

	for (size_t i = 0; text && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		found |= strstr(text, kinds[i].name) ? kinds[i].kind : 0;
	return found;
}

static void read_deed(const char *text)
{
	static const struct {
		const char *name;
		enum fault_deed deed;
		int err;
	} deeds[] = {
		{ "kill-before", DEED_KILL_BEFORE, 0 },
		{ "kill-after", DEED_KILL_AFTER, 0 },
		{ "short", DEED_SHORT, 0 },
		{ "abort", DEED_ABORT, 0 },
		{ "ENOSPC", DEED_ERRNO, ENOSPC },
		{ "EDQUOT", DEED_ERRNO, EDQUOT },
		{ "EIO", DEED_ERRNO, EIO },
		{ "ECONNRESET", DEED_ERRNO, ECONNRESET },
		{ "EINTR", DEED_ERRNO, EINTR },
		{ "ENOMEM", DEED_ERRNO, ENOMEM },
	};

	for (size_t i = 0; text && i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		if (strcmp(text, deeds[i].name) == 0) {
			fault_plan.deed = deeds[i].deed;
			fault_plan.err = deeds[i].err;
		}
	}
}

__attribute__((constructor)) static void read_plan(void)
{
	const char *at = getenv("HAUL_FAULT_AT"), *sync_ms = getenv("HAUL_FAULT_SYNC_MS");

	fault_plan.kinds = kinds_of(getenv("HAUL_FAULT_KINDS"));
	fault_plan.root = getenv("HAUL_FAULT_ROOT");
	fault_plan.at = at ? strtoull(at, NULL, 10) : 0;
	fault_plan.log = getenv("HAUL_FAULT_LOG");
	fault_plan.sync_ms = sync_ms ? (unsigned)strtoul(sync_ms, NULL, 10) : 0;
	read_deed(getenv("HAUL_FAULT_DEED"));
	map_count(getenv("HAUL_FAULT_COUNT"));
	fault_plan.is_ready = true;
}

/* On stderr, for addr2line; and the end, with a core where the process may leave one. */
static _Noreturn void say_where(void)
{
	void *frames[64];

	backtrace_symbols_fd(frames, backtrace(frames, sizeof(frames) / sizeof(frames[0])), STDERR_FILENO);
	abort();
}

enum fault_deed fault_turn(enum fault_kind kind)
{
	if (!fault_plan.is_ready || !(fault_plan.kinds & kind))
		return DEED_NONE;
	if (atomic_fetch_add(&count->calls, 1) + 1 != fault_plan.at)
		return DEED_NONE;
	atomic_store(&count->hits, 1);
	if (fault_plan.deed == DEED_ABORT)
		say_where();
	return fault_plan.deed;
}

_Noreturn void fault_die(void)
{
	for (;;)
		(void)kill(getpid(), SIGKILL);
}

bool fault_is_below(const char *path)
{
	const char *root = fault_plan.root;

	while (root && *root) {
		size_t len = strcspn(root, ":");

		if (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0'))
			return true;
		root += len + (root[len] == ':');
	}
	return false;
}
