/* Sets of extended attributes: which are carried over, in which order, and how two sets differ. */
#include "engine/base/attributes.h"

#include "cmocka_first.h"

#include <stdlib.h>
#include <string.h>

#define ONE(name_, value_)                                                                                             \
	{                                                                                                              \
		(name_), sizeof(name_) - 1, (value_), sizeof(value_) - 1                                               \
	}

static unsigned kind_of(const char *name)
{
	return attribute_kind_of(name, strlen(name));
}

static void kinds_are_told_by_names(void **state)
{
	char longest[ATTRIBUTE_NAME_MAX + 2];

	(void)state;
	assert_int_equal(kind_of("user.x"), ATTRIBUTE_USER);
	assert_int_equal(kind_of("system.posix_acl_access"), ATTRIBUTE_ACL);
	assert_int_equal(kind_of("system.posix_acl_default"), ATTRIBUTE_ACL);
	assert_int_equal(kind_of("security.capability"), ATTRIBUTE_SECURITY);
	assert_int_equal(kind_of("trusted.x"), ATTRIBUTE_TRUSTED);
	assert_int_equal(kind_of("security.selinux") | kind_of("security.ima") | kind_of("security.evm"), 0);
	assert_int_equal(kind_of("user.") | kind_of("user") | kind_of("") | kind_of("btrfs.compression"), 0);
	assert_int_equal(kind_of("system.nfs4_acl") | kind_of("system.posix_acl_access2"), 0);
	assert_int_equal(attribute_kind_of("user.a\0b", 8), 0);
	memset(longest, 'n', sizeof(longest));
	memcpy(longest, "user.", 5);
	assert_int_equal(attribute_kind_of(longest, ATTRIBUTE_NAME_MAX), ATTRIBUTE_USER);
	assert_int_equal(attribute_kind_of(longest, ATTRIBUTE_NAME_MAX + 1), 0);
}

static void a_peer_s_set_is_checked(void **state)
{
	static char big[ATTRIBUTE_VALUE_MAX + 1];
	const struct attribute good[] = { ONE("user.a", ""), ONE("user.a.b", "x"), ONE("user.b", "y") };
	const struct attribute twice[] = { ONE("user.a", "1"), ONE("user.a", "2") };
	const struct attribute disorder[] = { ONE("user.b", "1"), ONE("user.a", "2") };
	const struct attribute label[] = { ONE("security.selinux", "x") };
	struct attribute large[] = { { "user.a", 6, big, ATTRIBUTE_VALUE_MAX },
				     { "user.b", 6, big, ATTRIBUTE_VALUE_MAX - 12 } };
	struct attribute many[ATTRIBUTES_MAX + 1];

	(void)state;
	assert_ok(attributes_check(NULL, 0));
	assert_ok(attributes_check(good, 3));
	assert_code(attributes_check(twice, 2), HAUL_BAD_VALUE);
	assert_code(attributes_check(disorder, 2), HAUL_BAD_VALUE);
	assert_code(attributes_check(label, 1), HAUL_BAD_VALUE);
	assert_ok(attributes_check(large, 2));
	large[1].value_len++;
	assert_code(attributes_check(large, 2), HAUL_BAD_VALUE);
	large[0].value_len++;
	assert_code(attributes_check(large, 1), HAUL_BAD_VALUE);
	for (size_t i = 0; i <= ATTRIBUTES_MAX; i++)
		many[i] = (struct attribute)ONE("user.a", "");
	assert_code(attributes_check(many, ATTRIBUTES_MAX + 1), HAUL_BAD_VALUE);
}

static void a_copy_is_in_order_and_its_own(void **state)
{
	char value[] = "two\0parts";
	const struct attribute from[] = { ONE("user.z", "last"), { "user.a", 6, value, 9 } };
	struct attributes *set;

	(void)state;
	assert_ok(attributes_copy(from, 0, &set));
	assert_null(set);
	assert_ok(attributes_copy(from, 2, &set));
	value[0] = '-';
	assert_int_equal(set->count, 2);
	assert_int_equal(set->bytes, 6 + 4 + 6 + 9);
	assert_string_equal(set->at[0].name, "user.a");
	assert_memory_equal(set->at[0].value, "two\0parts", 9);
	assert_ok(attributes_check(set->at, set->count));
	assert_non_null(attributes_find(set, "user.z"));
	assert_null(attributes_find(set, "user"));
	assert_null(attributes_find(NULL, "user.z"));
	free(set);
}

static void sets_differ_by_kind(void **state)
{
	const struct attribute one[] = { ONE("user.a", "1"), ONE("trusted.t", "1") };
	const struct attribute two[] = { ONE("user.a", "1"), ONE("trusted.t", "2"), ONE(ATTRIBUTE_ACL_ACCESS, "x") };
	struct attributes *a, *b;

	(void)state;
	assert_ok(attributes_copy(one, 2, &a));
	assert_ok(attributes_copy(two, 3, &b));
	assert_int_equal(attributes_differ(NULL, NULL), 0);
	assert_int_equal(attributes_differ(a, a), 0);
	assert_int_equal(attributes_differ(a, NULL), ATTRIBUTE_USER | ATTRIBUTE_TRUSTED);
	assert_int_equal(attributes_differ(NULL, a), ATTRIBUTE_USER | ATTRIBUTE_TRUSTED);
	assert_int_equal(attributes_differ(a, b), ATTRIBUTE_TRUSTED | ATTRIBUTE_ACL);
	assert_int_equal(attributes_keep(b, ATTRIBUTE_USER), ATTRIBUTE_TRUSTED | ATTRIBUTE_ACL);
	assert_int_equal(b->count, 1);
	assert_int_equal(attributes_differ(a, b), ATTRIBUTE_TRUSTED);
	assert_int_equal(attributes_keep(b, 0), ATTRIBUTE_USER);
	assert_int_equal(attributes_differ(b, NULL), 0);
	assert_int_equal(attributes_keep(NULL, 0), 0);
	free(a);
	free(b);
}

/* user::rw-, user:1000:rwx, group::r--, mask::rwx, other::---: its mode is 0670, but the group may only read. */
static void without_its_acl_a_mode_allows_nobody_more(void **state)
{
	static const char acl[] = "\2\0\0\0"
				  "\1\0\6\0\xff\xff\xff\xff"
				  "\2\0\7\0\xe8\3\0\0"
				  "\4\0\4\0\xff\xff\xff\xff"
				  "\x10\0\7\0\xff\xff\xff\xff"
				  "\x20\0\0\0\xff\xff\xff\xff";
	const struct attribute with[] = { ONE(ATTRIBUTE_ACL_ACCESS, acl) };
	const struct attribute broken[] = { ONE(ATTRIBUTE_ACL_ACCESS, "\2\0\0\0\4\0\7") };
	struct attributes *set;

	(void)state;
	assert_ok(attributes_copy(with, 1, &set));
	assert_int_equal(attributes_mode_without_acl(set, 04670), 04640);
	assert_int_equal(attributes_mode_without_acl(set, 0620), 0600);
	free(set);
	assert_ok(attributes_copy(broken, 1, &set));
	assert_int_equal(attributes_mode_without_acl(set, 0670), 0600);
	free(set);
	assert_int_equal(attributes_mode_without_acl(NULL, 0670), 0670);
}

static void the_ids_of_an_acl_are_found_and_changed(void **state)
{
	static const char acl[] = "\2\0\0\0"
				  "\1\0\6\0\xff\xff\xff\xff"
				  "\2\0\7\0\xe8\3\0\0"
				  "\4\0\4\0\xff\xff\xff\xff"
				  "\10\0\7\0\1\0\0\x80";
	const struct attribute with[] = { ONE(ATTRIBUTE_ACL_ACCESS, acl) };
	struct attributes *set;
	struct acl_id id;
	size_t at = 0;

	(void)state;
	assert_ok(attributes_copy(with, 1, &set));
	assert_true(acl_next_id(&set->at[0], &at, &id));
	assert_true(!id.is_group && id.id == 1000);
	acl_set_id(&set->at[0], &id, 0x01020304);
	assert_true(acl_next_id(&set->at[0], &at, &id));
	assert_true(id.is_group && id.id == 0x80000001);
	assert_false(acl_next_id(&set->at[0], &at, &id));
	at = 0;
	assert_true(acl_next_id(&set->at[0], &at, &id));
	assert_int_equal(id.id, 0x01020304);
	set->at[0].value_len = 15; /* cut in the middle of an entry */
	at = 0;
	assert_false(acl_next_id(&set->at[0], &at, &id));
	free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_by_names),
		cmocka_unit_test(a_peer_s_set_is_checked),
		cmocka_unit_test(a_copy_is_in_order_and_its_own),
		cmocka_unit_test(sets_differ_by_kind),
		cmocka_unit_test(the_ids_of_an_acl_are_found_and_changed),
		cmocka_unit_test(without_its_acl_a_mode_allows_nobody_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
