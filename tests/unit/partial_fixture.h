/* A place in a directory of its own, and what the tests of arrival do again and again with it. */
#ifndef HAUL_TESTS_PARTIAL_FIXTURE_H
#define HAUL_TESTS_PARTIAL_FIXTURE_H

#include "engine/place.h"

#include "temp_tree.h"
#include "tests/unit/meta_of.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/skip_because.h"

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)
#define assert_done(st) assert_code(st, HAUL_OK)

struct fixture {
	struct temp_tree tree;
	struct place *place;
};

static const struct entry_facts some_meta = { .mode = 0640, .mtime = { .sec = 1234567890, .nsec = 123456789 } };

static inline struct place *new_place(int fd)
{
	struct place *p = NULL;
	struct haul_fault fault;

	assert_done(place_open(fd, fd, &p, &fault));
	return p;
}

static inline void close_place(struct fixture *f)
{
	place_close(f->place);
	f->place = NULL;
}

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	temp_tree_open(&f->tree, "partial");
	temp_dir(f->tree.fd, "dir");
	f->place = new_place(f->tree.fd);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	close_place(f);
	temp_tree_close(&f->tree);
	free(f);
	return 0;
}

static inline haul_status create(struct place *p, const char *path, uint64_t size, enum direct_mode mode,
				 struct partial *ret_partial)
{
	const struct partial_config cfg = { .size = size, .direct = mode };
	struct haul_fault fault = { .status = HAUL_OK };
	haul_status st = partial_create(p, path, &cfg, ret_partial, &fault);

	if (haul_failed(st) && fault.status.code != st.code)
		return haul_bug("the fault says something else");
	return st;
}

static inline void small(struct place *p, const char *path, const char *text, struct partial *ret_partial)
{
	assert_done(partial_create_small(p, path, text, strlen(text), META(some_meta), ret_partial));
	assert_int_equal(ret_partial->file.fd, -1);
}

static inline void large(struct place *p, const char *path, const char *text, struct partial *ret_partial)
{
	assert_done(create(p, path, strlen(text), DIRECT_NEVER, ret_partial));
	assert_int_equal(pwrite(ret_partial->file.fd, text, strlen(text), 0), strlen(text));
}

static inline bool is_in_target(const struct partial *part)
{
	return (part->owns_dir || part->beside) && strncmp(part->name, ".haul.", 6) == 0 &&
	       strlen(part->name) == 6 + 32 + 5;
}

static inline void assert_facts(struct place *p, const char *path, uint64_t size)
{
	struct entry_facts facts;

	assert_done(place_stat(p, path, &facts));
	assert_int_equal(facts.kind, ENTRY_FILE);
	assert_int_equal(facts.mode, some_meta.mode);
	assert_int_equal(facts.size, size);
	assert_int_equal(facts.mtime.sec, some_meta.mtime.sec);
	assert_int_equal(facts.mtime.nsec, some_meta.mtime.nsec);
	assert_int_equal(facts.links, 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
