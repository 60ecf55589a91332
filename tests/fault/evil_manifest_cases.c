/* A hostile sender, before its data: names and manifests. */
#include "evil_script.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct job j;

static int ended(int verdict)
{
	job_close(&j);
	return verdict;
}

static bool begin_as(struct evil *e, const struct msg_job *m)
{
	return job_begin(&j, e, m) && job_lanes(&j) && job_hear(&j, MSG_CREDIT);
}

static bool begin(struct evil *e)
{
	const struct msg_job m = evil_push(e);

	return begin_as(e, &m);
}

static int judged(void)
{
	return ended(job_verdict(&j));
}

/* ---- names ---- */

static int name(struct evil *e, const char *text, size_t len)
{
	return begin(e) && job_raw_name(&j, text, len) ? judged() : ended(V_FAULT);
}

static int name_dots(struct evil *e)
{
	return name(e, "..", 2);
}

static int name_dot(struct evil *e)
{
	return name(e, ".", 1);
}

static int name_slash(struct evil *e)
{
	return name(e, "a/b", 3);
}

static int name_up_and_out(struct evil *e)
{
	return name(e, "../../outside/canary", 20);
}

static int name_empty(struct evil *e)
{
	return name(e, "", 0);
}

static int name_nul(struct evil *e)
{
	return name(e, "a\0b", 3);
}

static int name_of_256_bytes(struct evil *e)
{
	char text[256];

	memset(text, 'n', sizeof(text));
	return name(e, text, sizeof(text));
}

static int name_reserved(struct evil *e)
{
	return name(e, ".haul", 5);
}

static int name_reserved_in_capitals(struct evil *e)
{
	return name(e, ".HAUL-part", 10);
}

/* ---- the manifest ---- */

static int announced(void)
{
	return job_announce(&j) ? judged() : ended(V_FAULT);
}

static int parent_never_announced(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, 7, "file", 1);
	return announced();
}

static int below(struct evil *e, enum entry_kind kind)
{
	struct manifest_entry *top;

	if (!begin(e))
		return ended(V_FAULT);
	top = job_add(&j, kind, HAUL_NO_INDEX, "top", 0);
	if (kind == ENTRY_LINK)
		top->link_target = (struct text){ "../../outside", 13 };
	(void)job_add(&j, ENTRY_FILE, 0, "below", 1);
	return announced();
}

static int below_a_file(struct evil *e)
{
	return below(e, ENTRY_FILE);
}

static int below_a_link(struct evil *e)
{
	return below(e, ENTRY_LINK);
}

static int index_left_out(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "file", 1)->index = 1;
	return announced();
}

static int same_name_twice(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "same", 1);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "same", 1);
	return announced();
}

static int names_in_disorder(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "b", 1);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "a", 1);
	return announced();
}

static int directory_ends_twice(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "dir", 0);
	job_add_end(&j, 0, 0);
	job_add_end(&j, 0, 0);
	return announced();
}

static int directory_counts_wrong(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "dir", 0);
	job_add_end(&j, 0, 3);
	return announced();
}

static int end_with_open_directory(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "dir", 0);
	(void)job_announce(&j);
	(void)job_announce_end(&j);
	return judged();
}

static int end_counts_wrong(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	j.entry_count = 5;
	(void)job_announce_end(&j);
	return judged();
}

static int entry_after_the_end(struct evil *e)
{
	if (!begin(e) || !job_announce_end(&j))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "late", 1);
	return announced();
}

static int owner_without_name(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "file", 1)->owner = 3;
	return announced();
}

/* ---- the root as an entry ---- */

static int root_that_was_not_agreed(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "", 0);
	return announced();
}

static bool begin_with_root(struct evil *e, const char *root)
{
	struct msg_job m = evil_push(e);

	m.flags |= JOB_ROOT_TOO;
	m.root = (struct text){ root, strlen(root) };
	return begin_as(e, &m);
}

static int below_the_root_by_its_index(struct evil *e)
{
	if (!begin_with_root(e, e->name))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "", 0);
	(void)job_add(&j, ENTRY_FILE, 0, "file", 1);
	return announced();
}

static int root_that_does_not_end(struct evil *e)
{
	if (!begin_with_root(e, e->name))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "", 0);
	if (!job_announce(&j))
		return ended(V_FAULT);
	(void)job_announce_end(&j);
	return judged();
}

/* Whoever may write to a share may not shut its owner out of it. */
static int top_of_the_share_stays(struct evil *e)
{
	struct stat before, after;

	if (stat(e->share_dir, &before) || !begin_with_root(e, ""))
		return ended(V_FAULT);
	job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "", 0)->mode = 01000;
	job_add_end(&j, HAUL_NO_INDEX, 0);
	if (!job_announce(&j) || !job_announce_end(&j) || !job_hear(&j, MSG_RESULT) ||
	    j.results[0].outcome != OUTCOME_UNCHANGED || stat(e->share_dir, &after) || after.st_mode != before.st_mode)
		return ended(V_FAULT);
	return ended(job_agree(&j));
}

/* Files that are wished for and never come: no result, so no more credit than at the beginning. */
static int more_than_granted(struct evil *e)
{
	char names[1000][16];

	if (!begin(e))
		return ended(V_FAULT);
	for (unsigned round = 0; round < 40; round++) {
		static struct manifest_record records[1000];
		const struct message m = { .type = MSG_MANIFEST, .manifest = { records, 1000 } };

		for (unsigned i = 0; i < 1000; i++) {
			struct manifest_entry *entry;

			(void)snprintf(names[i], sizeof(names[i]), "%08u", round * 1000 + i);
			j.record_count = 0;
			entry = job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, names[i], 1);
			records[i] = (struct manifest_record){ .type = RECORD_ENTRY, .entry = *entry };
		}
		if (!talk_say(&j.control, &m))
			break;
	}
	return judged();
}

static int devices_are_not_made(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	job_add(&j, ENTRY_BLOCK_DEVICE, HAUL_NO_INDEX, "sda", 0)->rdev = 0x800;
	(void)job_add(&j, ENTRY_SOCKET, HAUL_NO_INDEX, "sock", 0);
	if (!job_announce(&j) || !job_announce_end(&j) || !job_hear(&j, MSG_RESULT))
		return ended(V_FAULT);
	if (j.results[0].code != HAUL_CODE_UNSUPPORTED)
		return ended(V_FAULT);
	return ended(job_agree(&j));
}

/* The link stands in the share, as text; what is announced below a directory of its name goes nowhere. */
static int directory_where_a_link_stands(struct evil *e)
{
	char path[4096];

	if (!begin(e))
		return ended(V_FAULT);
	(void)snprintf(path, sizeof(path), "%s/%s/dir", e->share_dir, e->name);
	if (symlink("../../outside", path))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_DIRECTORY, HAUL_NO_INDEX, "dir", 0);
	(void)job_add(&j, ENTRY_FILE, 0, "planted", 10);
	job_add_end(&j, 0, 1);
	if (!job_announce(&j) || !job_announce_end(&j))
		return ended(V_FAULT);
	while (j.result_count < 2) {
		if (!job_hear(&j, MSG_RESULT))
			return ended(V_FAULT);
	}
	return j.results[0].outcome == OUTCOME_FAILED && j.results[1].outcome == OUTCOME_FAILED ? ended(job_agree(&j))
												: ended(V_FAULT);
}

static int setuid_is_left_out(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "whole", 100)->mode = 06755;
	if (!job_announce(&j) || !job_announce_end(&j) || !job_hear(&j, MSG_WANT) ||
	    !lane_pack(&j.lanes[0], 0, 0, 100, false))
		return ended(V_FAULT);
	return ended(job_agree(&j));
}

const struct evil_case manifest_cases[] = {
	CASE(name_dots, CODE(BAD_FRAME)),
	CASE(name_dot, CODE(BAD_FRAME)),
	CASE(name_slash, CODE(BAD_FRAME)),
	CASE(name_up_and_out, CODE(BAD_FRAME)),
	CASE(name_empty, CODE(BAD_FRAME)),
	CASE(name_nul, CODE(BAD_FRAME)),
	CASE(name_of_256_bytes, CODE(BAD_FRAME)),
	CASE(name_reserved, CODE(RESERVED_NAME)),
	CASE(name_reserved_in_capitals, CODE(RESERVED_NAME)),
	CASE(parent_never_announced, CODE(NOT_ANNOUNCED)),
	CASE(below_a_file, CODE(NOT_ANNOUNCED)),
	CASE(below_a_link, CODE(NOT_ANNOUNCED)),
	CASE(index_left_out, CODE(NOT_ANNOUNCED)),
	CASE(same_name_twice, CODE(BAD_VALUE)),
	CASE(names_in_disorder, CODE(BAD_VALUE)),
	CASE(directory_ends_twice, CODE(NOT_ANNOUNCED), CODE(BAD_VALUE)),
	CASE(directory_counts_wrong, CODE(BAD_VALUE)),
	CASE(end_with_open_directory, CODE(BAD_VALUE)),
	CASE(end_counts_wrong, CODE(BAD_VALUE)),
	CASE(entry_after_the_end, CODE(BAD_MOVE)),
	CASE(owner_without_name, CODE(NOT_ANNOUNCED)),
	CASE(root_that_was_not_agreed, CODE(BAD_VALUE)),
	CASE(below_the_root_by_its_index, CODE(NOT_ANNOUNCED)),
	CASE(root_that_does_not_end, CODE(BAD_VALUE)),
	CASE(top_of_the_share_stays, V_DONE),
	CASE(more_than_granted, CODE(OVER_CREDIT)),
	CASE_ABSENT(devices_are_not_made, "sda", V_DONE),
	CASE_ABSENT(directory_where_a_link_stands, "dir/planted", V_DONE),
	CASE_WHOLE(setuid_is_left_out, "whole", 100, V_DONE),
	{ 0 },
};
