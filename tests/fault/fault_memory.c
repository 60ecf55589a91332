/*
 * Preloaded: the n-th request for memory fails (HAUL_FAULT_KINDS=memory, HAUL_FAULT_DEED=ENOMEM). Under a sanitizer the
 * next malloc is the sanitizer's, so what the program does wrong afterwards is seen.
 *
 * Counted is what the program itself and the C library ask for; under a sanitizer the program alone, because in each
 * new thread the sanitizer asks the library for something that must not fail. Not libcrypto, which is not ours to mend.
 * Nor the dynamic linker: that is the memory of threads, and libuv ends the process when it cannot make those of its
 * pool. Nor, with HAUL_FAULT_SPARED, what one part of the program asks for: FROM-TO in hexadecimal, as nm gives them.
 * So mbedTLS is left out, whose every request is haul_torture_shake's. Nor what the C library asks for while it looks
 * up a user or a group: what it loads for that dies, or waits for itself, when it gets none.
 */
#include "tests/fault/fault_plan.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <link.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

typedef void *malloc_fn(size_t size);
typedef void *calloc_fn(size_t count, size_t size);
typedef void *realloc_fn(void *old, size_t size);
typedef void *aligned_fn(size_t align, size_t size);
typedef char *strdup_fn(const char *text);
typedef char *strndup_fn(const char *text, size_t len);
typedef int memalign_fn(void **ret, size_t align, size_t size);

/* dlsym() gives a data pointer, and C has no cast from that to a function's. */
#define NEXT(type, name)                                                                                               \
	do {                                                                                                           \
		if (!next) {                                                                                           \
			void *found = dlsym(RTLD_NEXT, name);                                                          \
			memcpy(&next, &found, sizeof(next));                                                           \
		}                                                                                                      \
	} while (0)

static struct range {
	uintptr_t from, to;
} counted[2], spared; /* the C library, the program; and what of it does not count */

static bool is_in(const struct range *r, uintptr_t at)
{
	return at >= r->from && at < r->to;
}

static int find_ranges(struct dl_phdr_info *info, size_t size, void *context)
{
	bool is_program = !info->dlpi_name || !*info->dlpi_name;
	struct range *r = &counted[is_program];

	(void)size;
	(void)context;
	if (r->to || (!is_program && !strstr(info->dlpi_name, "/libc.so")))
		return 0;
	r->from = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && r->to < info->dlpi_addr + part->p_vaddr + part->p_memsz)
			r->to = info->dlpi_addr + part->p_vaddr + part->p_memsz;
	}
	return 0;
}

static void know_spared(uintptr_t base)
{
	const char *text = getenv("HAUL_FAULT_SPARED");
	char *end;

	if (!text)
		return;
	spared.from = base + strtoul(text, &end, 16);
	if (*end == '-')
		spared.to = base + strtoul(end + 1, &end, 16);
	if (*end || spared.to <= spared.from)
		abort();
}

__attribute__((constructor)) static void know_ranges(void)
{
	(void)dl_iterate_phdr(find_ranges, NULL);
	know_spared(counted[1].from);
	if (dlsym(RTLD_DEFAULT, "__asan_init"))
		counted[0] = (struct range){ 0 };
}

/* This thread looks up a name. Of the model that asks for no memory when it is touched first. */
static __attribute__((tls_model("initial-exec"))) _Thread_local bool looks_up;

static bool is_counted(uintptr_t at)
{
	return !looks_up && (is_in(&counted[0], at) || is_in(&counted[1], at)) && !is_in(&spared, at);
}

static bool is_refused(const void *caller)
{
	if (!is_counted((uintptr_t)caller) || fault_turn(FAULT_MEMORY) != DEED_ERRNO)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	static malloc_fn *next;

	NEXT(malloc_fn, "malloc");
	return is_refused(__builtin_return_address(0)) ? NULL : next(size);
}

void *calloc(size_t count, size_t size)
{
	static calloc_fn *next;

	NEXT(calloc_fn, "calloc");
	return is_refused(__builtin_return_address(0)) ? NULL : next(count, size);
}

void *realloc(void *old, size_t size)
{
	static realloc_fn *next;

	NEXT(realloc_fn, "realloc");
	return is_refused(__builtin_return_address(0)) ? NULL : next(old, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	static aligned_fn *next;

	NEXT(aligned_fn, "aligned_alloc");
	return is_refused(__builtin_return_address(0)) ? NULL : next(align, size);
}

int posix_memalign(void **ret, size_t align, size_t size)
{
	static memalign_fn *next;

	NEXT(memalign_fn, "posix_memalign");
	return is_refused(__builtin_return_address(0)) ? ENOMEM : next(ret, align, size);
}

/* What the C library asks for inside of these is seen by itself, but not under a sanitizer. */
char *strdup(const char *text)
{
	static strdup_fn *next;

	NEXT(strdup_fn, "strdup");
	return is_refused(__builtin_return_address(0)) ? NULL : next(text);
}

char *strndup(const char *text, size_t len)
{
	static strndup_fn *next;

	NEXT(strndup_fn, "strndup");
	return is_refused(__builtin_return_address(0)) ? NULL : next(text, len);
}

/* ---- users and groups ---- */

typedef struct passwd *getpwuid_fn(uid_t id);
typedef int getpwuid_r_fn(uid_t id, struct passwd *ret, char *buffer, size_t cap, struct passwd **ret_found);
typedef int getpwnam_r_fn(const char *name, struct passwd *ret, char *buffer, size_t cap, struct passwd **ret_found);
typedef int getgrgid_r_fn(gid_t id, struct group *ret, char *buffer, size_t cap, struct group **ret_found);
typedef int getgrnam_r_fn(const char *name, struct group *ret, char *buffer, size_t cap, struct group **ret_found);

#define LOOK_UP(type, name, ...)                                                                                       \
	do {                                                                                                           \
		static type *next;                                                                                     \
		NEXT(type, #name);                                                                                     \
		looks_up = true;                                                                                       \
		result = next(__VA_ARGS__);                                                                            \
		looks_up = false;                                                                                      \
	} while (0)

struct passwd *getpwuid(uid_t id)
{
	struct passwd *result;

	LOOK_UP(getpwuid_fn, getpwuid, id);
	return result;
}

int getpwuid_r(uid_t id, struct passwd *ret, char *buffer, size_t cap, struct passwd **ret_found)
{
	int result;

	LOOK_UP(getpwuid_r_fn, getpwuid_r, id, ret, buffer, cap, ret_found);
	return result;
}

int getpwnam_r(const char *name, struct passwd *ret, char *buffer, size_t cap, struct passwd **ret_found)
{
	int result;

	LOOK_UP(getpwnam_r_fn, getpwnam_r, name, ret, buffer, cap, ret_found);
	return result;
}

int getgrgid_r(gid_t id, struct group *ret, char *buffer, size_t cap, struct group **ret_found)
{
	int result;

	LOOK_UP(getgrgid_r_fn, getgrgid_r, id, ret, buffer, cap, ret_found);
	return result;
}

int getgrnam_r(const char *name, struct group *ret, char *buffer, size_t cap, struct group **ret_found)
{
	int result;

	LOOK_UP(getgrnam_r_fn, getgrnam_r, name, ret, buffer, cap, ret_found);
	return result;
}
