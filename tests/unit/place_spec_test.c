/* Places as typed: every row of docs/CLI.md "Places". */
#include "agent/place_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct place_spec parse(const char *text)
{
	struct place_spec p = { .port = 0 };
	struct haul_fault fault = { .text = "" };
	haul_status st = place_spec_parse(text, &p, &fault);

	if (haul_failed(st))
		fail_msg("%s: %s", text, fault.text);
	assert_string_equal(p.text, text);
	return p;
}

static void assert_local(const char *text, const char *path, bool has_slash)
{
	struct place_spec p = parse(text);

	assert_false(p.is_remote);
	assert_null(p.peer);
	assert_null(p.host);
	assert_null(p.share);
	assert_string_equal(p.path, path);
	assert_int_equal(p.has_slash, has_slash);
	place_spec_close(&p);
	assert_null(p.text);
}

static void assert_peer(const char *text, const char *share, const char *path, bool has_slash)
{
	struct place_spec p = parse(text);

	assert_true(p.is_remote);
	assert_string_equal(p.peer, "nas");
	assert_null(p.host);
	assert_string_equal(p.share, share);
	assert_string_equal(p.path, path);
	assert_int_equal(p.has_slash, has_slash);
	place_spec_close(&p);
}

static void assert_address(const char *text, const char *host, unsigned port, const char *share, const char *path)
{
	struct place_spec p = parse(text);

	assert_true(p.is_remote);
	assert_null(p.peer);
	assert_string_equal(p.host, host);
	assert_int_equal(p.port, port);
	if (share)
		assert_string_equal(p.share, share);
	else
		assert_null(p.share);
	assert_string_equal(p.path, path);
	place_spec_close(&p);
}

static void assert_refused(const char *text, const char *words)
{
	struct place_spec p = { .port = 7 };
	struct haul_fault fault = { .text = "" };
	haul_status st = place_spec_parse(text, &p, &fault);

	assert_int_equal(st.code, HAUL_CODE_USAGE);
	assert_int_equal(fault.status.code, HAUL_CODE_USAGE);
	if (!strstr(fault.text, words))
		fail_msg("%s: \"%s\" lacks \"%s\"", text, fault.text, words);
	assert_int_equal(p.port, 7);
	assert_null(p.text);
}

static void test_local(void **state)
{
	(void)state;
	assert_local("file", "file", false);
	assert_local("/a/b", "/a/b", false);
	assert_local("dir/", "dir/", true);
	assert_local(".", ".", true);
	assert_local("..", "..", true);
	assert_local("a/..", "a/..", true);
	assert_local("a/.", "a/.", true);
	assert_local("...", "...", false);
	assert_local("a/.b", "a/.b", false);
	assert_local("/", "/", true);
}

static void test_colon_after_a_slash_is_local(void **state)
{
	(void)state;
	assert_local("./A001:C003.mov", "./A001:C003.mov", false);
	assert_local("/a:b", "/a:b", false);
	assert_local("a/b:c", "a/b:c", false);
}

static void test_double_slash_is_one(void **state)
{
	(void)state;
	assert_local("//server/x", "/server/x", false);
	assert_local("a//b///", "a/b/", true);
	assert_local("///", "/", true);
	assert_peer("nas:inbox//a///b//", "inbox", "a/b", true);
}

static void test_peer(void **state)
{
	(void)state;
	assert_peer("nas:inbox", "inbox", "", true);
	assert_peer("nas:inbox/", "inbox", "", true);
	assert_peer("nas:inbox/day1", "inbox", "day1", false);
	assert_peer("nas:inbox/day1/", "inbox", "day1", true);
	assert_peer("nas:inbox/day1/Footage", "inbox", "day1/Footage", false);
	assert_peer("nas:inbox/.", "inbox", "", true);
	assert_peer("nas:inbox/./a/./b", "inbox", "a/b", false);
	assert_peer("nas:inbox/a/.", "inbox", "a", true);
	assert_peer("nas:inbox/a:b", "inbox", "a:b", false);
	assert_peer("nas:inbox/-x", "inbox", "-x", false);
	assert_peer("nas:inbox/a\nb", "inbox", "a\nb", false);
}

static void test_peer_alone(void **state)
{
	struct place_spec p = parse("nas:");

	(void)state;
	assert_true(p.is_remote);
	assert_string_equal(p.peer, "nas");
	assert_null(p.share);
	assert_string_equal(p.path, "");
	place_spec_close(&p);
}

static void test_colon_always_means_a_peer(void **state)
{
	struct place_spec p = parse("A001:C003.mov");

	(void)state;
	assert_true(p.is_remote);
	assert_string_equal(p.peer, "A001");
	assert_string_equal(p.share, "C003.mov");
	place_spec_close(&p);
}

static void test_address(void **state)
{
	(void)state;
	assert_address("haul://10.0.0.2/inbox", "10.0.0.2", HAUL_DEFAULT_PORT, "inbox", "");
	assert_address("haul://nas.lan:5000/inbox/a/b", "nas.lan", 5000, "inbox", "a/b");
	assert_address("haul://[::1]/inbox", "::1", HAUL_DEFAULT_PORT, "inbox", "");
	assert_address("haul://[fe80::1%eth0]:65535/inbox/x/", "fe80::1%eth0", 65535, "inbox", "x");
	assert_address("haul://nas", "nas", HAUL_DEFAULT_PORT, NULL, "");
	assert_address("haul://nas:1/", "nas", 1, NULL, "");
}

static void test_refusals_name_the_remedy(void **state)
{
	(void)state;
	assert_refused("", "write . for this directory");
	assert_refused("user@nas:x", "devices, not users: write nas:x");
	assert_refused("haul://user@nas/x", "write haul://nas/x");
	assert_refused("nas:/volume1/x",
		       "haul addresses shares, not paths: write nas:SHARE/volume1/x; see haul list nas");
	assert_refused("nas::inbox", "write nas:inbox");
	assert_refused(":x", "for a file write ./:x");
	assert_refused("[::1]:inbox", "haul://[ADDRESS]/SHARE");
	assert_refused("rsync://nas/x", "haul://HOST/SHARE");
	assert_refused("nas:inbox/../x", "cannot go up");
	assert_refused("nas:inbox/..", "cannot go up");
	assert_refused("nas:inbox/.haul/x", "reserved");
	assert_refused("nas:inbox/a/.HAUL-x", "reserved");
	assert_refused("nas:..", "1 to 64 characters");
}

static void test_refused_addresses(void **state)
{
	(void)state;
	assert_refused("haul://", "HOST[:PORT]");
	assert_refused("haul:///inbox", "HOST[:PORT]");
	assert_refused("haul://[::1/inbox", "HOST[:PORT]");
	assert_refused("haul://[10.0.0.1]/inbox", "HOST[:PORT]");
	assert_refused("haul://::1/inbox", "HOST[:PORT]");
	assert_refused("haul://fe80::1/inbox", "stands in brackets");
	assert_refused("haul://na s/inbox", "HOST[:PORT]");
	assert_refused("haul://nas:0/inbox", "1 to 65535");
	assert_refused("haul://nas:65536/inbox", "1 to 65535");
	assert_refused("haul://nas:/inbox", "1 to 65535");
	assert_refused("haul://nas:12x/inbox", "1 to 65535");
	assert_refused("haul://nas:000000000001/inbox", "1 to 65535");
	assert_refused("haul://[::1]x/inbox", "1 to 65535");
}

/* "nas:inbox" and `count` times "/" and `name_len` bytes of 'a'. */
static char *long_place(size_t count, size_t name_len)
{
	char *text = malloc(16 + count * (name_len + 1)), *at;

	assert_non_null(text);
	at = stpcpy(text, "nas:inbox");
	for (size_t i = 0; i < count; i++) {
		*at++ = '/';
		memset(at, 'a', name_len);
		at += name_len;
	}
	*at = '\0';
	return text;
}

static void assert_long(size_t count, size_t name_len, const char *refusal)
{
	char *text = long_place(count, name_len);

	if (refusal)
		assert_refused(text, refusal);
	else
		assert_peer(text, "inbox", text + strlen("nas:inbox/"), false);
	free(text);
}

static void test_bounds(void **state)
{
	char share[80];

	(void)state;
	assert_long(1, 255, NULL);
	assert_long(1, 256, "longer than 255");
	assert_long(4096, 1, NULL);
	assert_long(4097, 1, "at most 4096 components");
	assert_long(256, 255, "at most 65535 bytes");
	memset(share, 's', sizeof(share));
	memcpy(share, "nas:", 4);
	share[4 + 64] = '\0';
	assert_peer(share, share + 4, "", true);
	share[4 + 64] = 's';
	share[4 + 65] = '\0';
	assert_refused(share, "1 to 64 characters");
}

static void test_names_in_refusals_are_escaped(void **state)
{
	(void)state;
	assert_refused("nas:inbox/../\x1b[31m", "\\x1B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_colon_after_a_slash_is_local),
		cmocka_unit_test(test_double_slash_is_one),
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_peer_alone),
		cmocka_unit_test(test_colon_always_means_a_peer),
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_refusals_name_the_remedy),
		cmocka_unit_test(test_refused_addresses),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_names_in_refusals_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
