/* Entry records and job roots against golden values that another program computed over libxxhash.so. */
#include "engine/entry_digest.h"

#include "engine/hash_tree.h"

#include "digest_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct entry_record record_of(enum entry_kind kind, const char *path)
{
	return (struct entry_record){ .kind = kind, .path = path, .path_len = strlen(path) };
}

static void assert_record(const struct entry_record *r, const char *golden)
{
	struct haul_digest d;

	assert_true(haul_ok(entry_digest(r, &d)));
	assert_digest(d, golden);
}

static void a_file_has_size_and_root(void **state)
{
	struct entry_record r = record_of(ENTRY_FILE, "dir/file.txt");

	(void)state;
	r.size = 3;
	for (uint8_t i = 0; i < HAUL_DIGEST_BYTES; i++)
		r.root.bytes[i] = (uint8_t)(0x10 + i);
	assert_record(&r, "1b66d6ced4075daafa1e997b124a8d2b");
}

static void an_unchanged_file_has_a_root_of_zeros(void **state)
{
	struct entry_record r = record_of(ENTRY_FILE, "x");

	(void)state;
	r.outcome = OUTCOME_UNCHANGED;
	r.size = 65536;
	assert_record(&r, "8676552cf74ec8d87202affb07483807");
}

static void what_failed_is_its_path_only(void **state)
{
	struct entry_record r = record_of(ENTRY_FILE, "x");

	(void)state;
	r.outcome = OUTCOME_FAILED;
	r.size = 12345;
	r.root.bytes[0] = 1;
	assert_record(&r, "948e782f6ea9102978df331d28fe6b62");
}

static void directories_are_their_path(void **state)
{
	struct entry_record dir = record_of(ENTRY_DIRECTORY, "dir"), root = record_of(ENTRY_DIRECTORY, "");

	(void)state;
	assert_record(&dir, "442f393a30c7bdfc3652d6b61cac0888");
	assert_record(&root, "f163fc29d4c33193ccebe73b5df38830");
}

static void a_link_has_its_target(void **state)
{
	struct entry_record r = record_of(ENTRY_LINK, "l");

	(void)state;
	r.link_target = "a/b\nc";
	r.link_target_len = 5;
	assert_record(&r, "166bbe3479f31f0d8736682482763379");
}

static void long_paths_are_whole(void **state)
{
	char path[3000 * 2];
	struct entry_record r;

	(void)state;
	for (size_t i = 0; i < 3000; i++) {
		path[2 * i] = (char)('a' + i % 26);
		path[2 * i + 1] = '/';
	}
	path[sizeof(path) - 1] = '\0';
	r = record_of(ENTRY_DIRECTORY, path);
	assert_record(&r, "98844dc3aa27d093315c45cb5a76ddce");
}

static struct job_digest *job_new(void)
{
	struct job_digest *j = NULL;
	struct haul_fault fault;

	assert_true(haul_ok(job_digest_new(".", &j, &fault)));
	return j;
}

static void put(struct job_digest *j, uint64_t index)
{
	struct haul_digest d;
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(index >> (56 - 8 * i));
	leaf_digest(bytes, sizeof(bytes), &d);
	assert_true(haul_ok(job_digest_put(j, index, &d)));
}

static void assert_job(struct job_digest *j, uint64_t count, const char *golden)
{
	struct haul_digest root;

	assert_true(haul_ok(job_digest_root(j, count, &root)));
	assert_digest(root, golden);
}

static void jobs_have_their_golden_roots(void **state)
{
	static const struct {
		uint64_t count;
		const char *root;
	} golden[] = {
		{ 0, "4e60edfecd723f6bf1806e490a5d6299" },     { 1, "8d88620d3057512f44f8c26ab27fb3ec" },
		{ 2, "09e389a28b83a8eaa9d90e02c3509dfd" },     { 255, "727840e17cf87a00a75df73e3b15cf00" },
		{ 256, "5dbf2b3e45371d181871ae1620b398a7" },   { 257, "f9431b0ecf5014aa996df0dc56416a5f" },
		{ 512, "746e748f901fa165db1a03d90b312354" },   { 65536, "ca30d842893b12005ae6e9ce631c4a6c" },
		{ 65537, "0093524af5fa3ffde1eac53108af7167" },
	};
	struct job_digest *j = job_new();
	uint64_t done = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		while (done < golden[i].count)
			put(j, done++);
		assert_job(j, golden[i].count, golden[i].root);
	}
	job_digest_free(j);
}

static void entries_may_end_in_any_order(void **state)
{
	struct job_digest *j = job_new();

	(void)state;
	for (uint64_t i = 0; i < 257; i++)
		put(j, i * 101 % 257);
	assert_job(j, 257, "f9431b0ecf5014aa996df0dc56416a5f");
	job_digest_free(j);
}

static void a_missing_entry_is_our_fault(void **state)
{
	struct job_digest *j = job_new();
	struct haul_digest root;

	(void)state;
	put(j, 0);
	put(j, 2);
	assert_int_equal(job_digest_root(j, 3, &root).code, HAUL_BUG.code);
	assert_int_equal(job_digest_root(j, 4, &root).code, HAUL_BUG.code);
	put(j, 1);
	assert_int_equal(job_digest_root(j, 3, &root).code, HAUL_OK.code);
	assert_int_equal(job_digest_put(j, UINT64_MAX, &root).code, HAUL_BAD_VALUE.code);
	job_digest_free(j);
}

static void a_scratch_directory_that_is_missing_is_told(void **state)
{
	struct job_digest *j;
	struct haul_fault fault;

	(void)state;
	assert_int_equal(job_digest_new("no-such-directory", &j, &fault).code, HAUL_NOT_FOUND.code);
	assert_int_equal(fault.status.code, HAUL_NOT_FOUND.code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_size_and_root),
		cmocka_unit_test(an_unchanged_file_has_a_root_of_zeros),
		cmocka_unit_test(what_failed_is_its_path_only),
		cmocka_unit_test(directories_are_their_path),
		cmocka_unit_test(a_link_has_its_target),
		cmocka_unit_test(long_paths_are_whole),
		cmocka_unit_test(jobs_have_their_golden_roots),
		cmocka_unit_test(entries_may_end_in_any_order),
		cmocka_unit_test(a_missing_entry_is_our_fault),
		cmocka_unit_test(a_scratch_directory_that_is_missing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
