/* What a server answers to LOOKUP and LIST: rights, links, pages. */
#include "agent/directory_page.h"
#include "agent/serve_ask.h"
#include "certs/rights.h"
#include "peer-protocol/codec.h"
#include "tests/unit/temp_directory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 3000 };

static struct temp_directory temp;
static char inbox_path[512], link_path[512];
static struct share share_items[3];
static struct share_list shares = { .shares = share_items };
static struct peer_right rights[2];
static struct peer peer;

static struct share share_of(const char *name, char *path)
{
	return (struct share){ .name = (char *)name, .path = path };
}

static int set_up(void **state)
{
	(void)state;
	temp_directory_open(&temp);
	snprintf(inbox_path, sizeof(inbox_path), "%s/inbox", temp.path);
	snprintf(link_path, sizeof(link_path), "%s/link", temp.path);
	share_items[0] = share_of("inbox", inbox_path);
	share_items[1] = share_of("linked", link_path);
	share_items[2] = share_of("secret", temp.path);
	shares.count = 3;
	rights[0] = (struct peer_right){ .share = (char *)"inbox", .rights = RIGHTS_WRITER };
	rights[1] = (struct peer_right){ .share = (char *)"linked", .rights = RIGHTS_READER };
	peer = (struct peer){ .name = (char *)"edit1", .rights = rights, .right_count = 2 };
	return mkdir(inbox_path, 0700) || symlink("inbox", link_path);
}

static int tear_down(void **state)
{
	(void)state;
	temp_directory_close(&temp);
	return 0;
}

static struct text text_of(const char *s)
{
	return (struct text){ s, strlen(s) };
}

/* Ask, run, and check that the answer can be sent. Freed with serve_ask_free(). */
static struct serve_ask *ask(const struct message *question)
{
	struct message_buffer wire = { .len = 0 };
	struct serve_ask *a;

	assert_true(haul_ok(serve_ask_new(&shares, &peer, NULL, question, &a)));
	serve_ask_run(a);
	assert_true(haul_ok(message_encode(&wire, serve_ask_answer(a))));
	message_buffer_close(&wire);
	return a;
}

static struct serve_ask *ask_list(const char *share, const char *path, const char *after)
{
	struct message m = { .type = MSG_LIST };

	m.list = (struct msg_list){ .share = text_of(share), .path = text_of(path), .after = text_of(after) };
	return ask(&m);
}

static struct found look_up(const char *share, const char *path)
{
	struct message m = { .type = MSG_LOOKUP };
	struct text paths[2] = { text_of(path), text_of("") };
	const struct message *answer;
	struct serve_ask *a;
	struct found found;

	m.lookup = (struct msg_lookup){ text_of(share), paths, 2 };
	a = ask(&m);
	answer = serve_ask_answer(a);
	assert_int_equal(answer->type, MSG_FOUND);
	assert_int_equal(answer->found.found_count, 2);
	assert_true(answer->found.rights == peer_rights_on(&peer, share, strlen(share)));
	assert_true(answer->found.free_bytes > 0);
	assert_int_equal(answer->found.found[1].state, FOUND_THERE);
	assert_int_equal(answer->found.found[1].kind, ENTRY_DIRECTORY);
	found = answer->found.found[0];
	serve_ask_free(a);
	return found;
}

static void assert_error(struct serve_ask *a, haul_status expected)
{
	assert_int_equal(serve_ask_answer(a)->type, MSG_ERROR);
	assert_int_equal(serve_ask_answer(a)->error.code, expected.code);
	serve_ask_free(a);
}

static void assert_name(const struct listing_entry *e, const char *name)
{
	assert_int_equal(e->name.len, strlen(name));
	assert_memory_equal(e->name.at, name, e->name.len);
}

static void test_shares_with_rights_only(void **state)
{
	struct serve_ask *a = ask_list("", "", "");
	const struct msg_listing *l = &serve_ask_answer(a)->listing;

	(void)state;
	assert_int_equal(serve_ask_answer(a)->type, MSG_LISTING);
	assert_int_equal(l->share_count, 2);
	assert_memory_equal(l->shares[0].name.at, "inbox", 5);
	assert_true(l->shares[0].rights == RIGHTS_WRITER);
	assert_true(l->shares[0].total_bytes >= l->shares[0].free_bytes && l->shares[0].free_bytes > 0);
	assert_memory_equal(l->shares[1].name.at, "linked", 6);
	assert_int_equal(l->entry_count, 0);
	serve_ask_free(a);
}

static void test_a_share_that_is_gone_is_still_listed(void **state)
{
	struct serve_ask *a;

	(void)state;
	assert_int_equal(rmdir(inbox_path), 0);
	a = ask_list("", "", "");
	assert_int_equal(serve_ask_answer(a)->listing.share_count, 2);
	assert_int_equal(serve_ask_answer(a)->listing.shares[0].total_bytes, 0);
	serve_ask_free(a);
	assert_error(ask_list("inbox", "", ""), HAUL_NOT_FOUND);
}

static void test_entries_in_order(void **state)
{
	const struct msg_listing *l;
	struct serve_ask *a;

	(void)state;
	temp_write(&temp, "inbox/b", "12345");
	temp_write(&temp, "inbox/a\xff", "");
	temp_write(&temp, "inbox/.haul-x", "");
	assert_int_equal(mkdir(temp_path(&temp, "inbox/.haul"), 0700), 0);
	assert_int_equal(mkdir(temp_path(&temp, "inbox/c"), 0750), 0);
	assert_int_equal(symlink("b", temp_path(&temp, "inbox/d")), 0);
	a = ask_list("linked", "", "");
	l = &serve_ask_answer(a)->listing;
	assert_int_equal(l->entry_count, 4);
	assert_name(&l->entries[0], "a\xff");
	assert_name(&l->entries[1], "b");
	assert_int_equal(l->entries[1].size, 5);
	assert_int_equal(l->entries[1].kind, ENTRY_FILE);
	assert_name(&l->entries[2], "c");
	assert_int_equal(l->entries[2].kind, ENTRY_DIRECTORY);
	assert_int_equal(l->entries[3].kind, ENTRY_LINK);
	assert_false(l->has_more);
	serve_ask_free(a);
	a = ask_list("inbox", "", "b");
	assert_int_equal(serve_ask_answer(a)->listing.entry_count, 2);
	serve_ask_free(a);
}

static void test_a_file_is_listed_as_itself(void **state)
{
	struct serve_ask *a;

	(void)state;
	assert_int_equal(mkdir(temp_path(&temp, "inbox/day"), 0700), 0);
	temp_write(&temp, "inbox/day/file", "123");
	a = ask_list("inbox", "day/file", "");
	assert_int_equal(serve_ask_answer(a)->listing.entry_count, 1);
	assert_name(&serve_ask_answer(a)->listing.entries[0], "file");
	serve_ask_free(a);
	a = ask_list("inbox", "day/file", "file");
	assert_int_equal(serve_ask_answer(a)->listing.entry_count, 0);
	serve_ask_free(a);
}

static void test_nothing_below_a_link(void **state)
{
	(void)state;
	assert_int_equal(symlink("/", temp_path(&temp, "inbox/out")), 0);
	assert_int_equal(symlink(".", temp_path(&temp, "inbox/in")), 0);
	assert_error(ask_list("inbox", "out/etc", ""), HAUL_LINK_IN_PATH);
	assert_error(ask_list("inbox", "in/x", ""), HAUL_LINK_IN_PATH);
	assert_error(ask_list("inbox", "none", ""), HAUL_NOT_FOUND);
	assert_int_equal(look_up("inbox", "out/etc").state, FOUND_LINK_IN_PATH);
}

static void test_lookup(void **state)
{
	struct found f;

	(void)state;
	temp_write(&temp, "inbox/file", "123");
	assert_int_equal(symlink("file", temp_path(&temp, "inbox/inside")), 0);
	assert_int_equal(symlink("/etc", temp_path(&temp, "inbox/absolute")), 0);
	assert_int_equal(symlink("../..", temp_path(&temp, "inbox/above")), 0);
	assert_int_equal(symlink("none", temp_path(&temp, "inbox/dangling")), 0);
	f = look_up("inbox", "file");
	assert_int_equal(f.state, FOUND_THERE);
	assert_int_equal(f.kind, ENTRY_FILE);
	assert_int_equal(f.size, 3);
	assert_true(f.mtime.sec > 1600000000);
	f = look_up("inbox", "inside");
	assert_int_equal(f.kind, ENTRY_LINK);
	assert_int_equal(f.target_kind, ENTRY_FILE);
	assert_int_equal(look_up("inbox", "absolute").target_kind, 0);
	assert_int_equal(look_up("inbox", "above").target_kind, 0);
	assert_int_equal(look_up("inbox", "dangling").target_kind, 0);
	assert_int_equal(look_up("inbox", "none").state, FOUND_MISSING);
	assert_int_equal(look_up("inbox", "file/x").state, FOUND_NOT_DIRECTORY);
}

static void test_without_list_nothing_is_told(void **state)
{
	struct serve_ask *a;

	(void)state;
	rights[0].rights = RIGHTS_DROPBOX;
	temp_write(&temp, "inbox/file", "123");
	assert_int_equal(look_up("inbox", "file").state, FOUND_DENIED);
	assert_int_equal(look_up("inbox", "none").state, FOUND_DENIED);
	a = ask_list("inbox", "", "");
	assert_true(serve_ask_answer(a)->error.missing_right == RIGHT_LIST);
	assert_true(serve_ask_answer(a)->error.held_rights == RIGHTS_DROPBOX);
	assert_memory_equal(serve_ask_answer(a)->error.your_name.at, "edit1", 5);
	assert_error(a, HAUL_NO_RIGHT);
}

static void test_no_share_names_those_offered(void **state)
{
	struct serve_ask *a = ask_list("secret", "", "");
	const struct msg_error *e = &serve_ask_answer(a)->error;

	(void)state;
	assert_int_equal(e->offered_count, 2);
	assert_memory_equal(e->offered[0].at, "inbox", 5);
	assert_memory_equal(e->share.at, "secret", 6);
	assert_error(a, HAUL_NO_SHARE);
	assert_error(ask_list("inbo", "", ""), HAUL_NO_SHARE);
}

static void make_many(void)
{
	char name[300];

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "inbox/%05u-%0*d", (i * 7919) % MANY, i % 3 ? 200 : 1, 0);
		temp_write(&temp, name, "");
	}
}

/* Ask for the page after `last`, which is moved on; names are counted and must come each once and in order. */
static struct serve_ask *next_page(struct serve_ask *before, bool goes_on, char *last, size_t *total)
{
	struct message m = { .type = MSG_LIST };
	const struct msg_listing *l;
	struct serve_ask *a;
	char name[300];

	m.list = (struct msg_list){ .share = text_of("inbox"), .path = text_of(""), .after = text_of(last) };
	assert_true(haul_ok(serve_ask_new(&shares, &peer, NULL, &m, &a)));
	if (goes_on)
		serve_ask_continue(a, before);
	serve_ask_free(before);
	serve_ask_run(a);
	assert_int_equal(serve_ask_answer(a)->type, MSG_LISTING);
	l = &serve_ask_answer(a)->listing;
	assert_in_range(l->entry_count, 1, MESSAGE_LISTING_MAX);
	for (size_t i = 0; i < l->entry_count; i++) {
		snprintf(name, sizeof(name), "%.*s", (int)l->entries[i].name.len, l->entries[i].name.at);
		assert_true(strcmp(name, last) > 0);
		assert_int_equal(strtoul(name, NULL, 10), (*total)++);
		snprintf(last, 256, "%.255s", name);
	}
	return a;
}

/* MANY files with long names: pages bounded by count and by bytes. */
static void assert_pages(bool goes_on)
{
	struct serve_ask *a = NULL;
	char last[256] = "";
	size_t total = 0, pages = 0;

	do {
		struct message_buffer wire = { .len = 0 };

		a = next_page(a, goes_on, last, &total);
		assert_true(haul_ok(message_encode(&wire, serve_ask_answer(a))));
		message_buffer_close(&wire);
		pages++;
	} while (serve_ask_answer(a)->listing.has_more);
	serve_ask_free(a);
	assert_int_equal(total, MANY);
	assert_true(pages >= 3);
}

static void test_pages(void **state)
{
	(void)state;
	make_many();
	assert_pages(false);
	assert_pages(true);
}

/* What is removed between two pages is not listed, and an emptied rest ends the list. */
static void test_entries_that_vanish(void **state)
{
	char last[256] = "";
	size_t total = 0;
	struct serve_ask *a;
	struct message m = { .type = MSG_LIST };
	struct serve_ask *rest;

	(void)state;
	make_many();
	a = next_page(NULL, true, last, &total);
	assert_true(serve_ask_answer(a)->listing.has_more);
	temp_directory_close(&temp);
	assert_int_equal(mkdir(temp.path, 0700) || mkdir(inbox_path, 0700), 0);
	m.list = (struct msg_list){ .share = text_of("inbox"), .path = text_of(""), .after = text_of(last) };
	assert_true(haul_ok(serve_ask_new(&shares, &peer, NULL, &m, &rest)));
	serve_ask_continue(rest, a);
	serve_ask_continue(rest, NULL);
	serve_ask_free(a);
	serve_ask_run(rest);
	assert_int_equal(serve_ask_answer(rest)->listing.entry_count, 0);
	assert_false(serve_ask_answer(rest)->listing.has_more);
	serve_ask_free(rest);
}

static void test_another_question_does_not_continue(void **state)
{
	char last[256] = "";
	size_t total = 0;
	struct serve_ask *a, *other;
	struct message m = { .type = MSG_LIST };

	(void)state;
	make_many();
	a = next_page(NULL, true, last, &total);
	m.list = (struct msg_list){ .share = text_of("linked"), .path = text_of(""), .after = text_of(last) };
	assert_true(haul_ok(serve_ask_new(&shares, &peer, NULL, &m, &other)));
	serve_ask_continue(other, a);
	assert_int_equal(serve_ask_answer(a)->type, MSG_LISTING);
	serve_ask_free(other);
	m.list = (struct msg_list){ .share = text_of("inbox"), .path = text_of(""), .after = text_of("0") };
	assert_true(haul_ok(serve_ask_new(&shares, &peer, NULL, &m, &other)));
	serve_ask_continue(other, a);
	assert_int_equal(serve_ask_answer(a)->type, MSG_LISTING);
	serve_ask_free(other);
	serve_ask_free(a);
}

static void test_page_of_exactly_all(void **state)
{
	struct directory_page p;
	int fd;

	(void)state;
	temp_write(&temp, "inbox/1", "");
	temp_write(&temp, "inbox/2", "");
	temp_write(&temp, "inbox/3", "");
	fd = open(inbox_path, O_PATH | O_DIRECTORY);
	assert_true(haul_ok(directory_page_read(fd, "", 3, &p)));
	assert_int_equal(p.count, 3);
	assert_false(p.has_more);
	directory_page_close(&p);
	assert_true(haul_ok(directory_page_read(fd, "1", 1, &p)));
	assert_int_equal(p.count, 1);
	assert_string_equal(p.names[0], "2");
	assert_true(p.has_more);
	directory_page_close(&p);
	assert_true(haul_ok(directory_page_read(fd, "3", 1, &p)));
	assert_int_equal(p.count, 0);
	assert_false(p.has_more);
	directory_page_close(&p);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shares_with_rights_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_share_that_is_gone_is_still_listed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_entries_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_is_listed_as_itself, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_below_a_link, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lookup, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_list_nothing_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_share_names_those_offered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_entries_that_vanish, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_question_does_not_continue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_page_of_exactly_all, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
