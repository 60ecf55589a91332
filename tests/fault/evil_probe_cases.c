/* A client that lies in a measurement: longer than agreed, more than one entry, or something that would be kept. */
#include "evil_script.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PROBE = 4 * MIB };

static struct job j;

static int ended(int verdict)
{
	job_close(&j);
	return verdict;
}

static int judged(void)
{
	return ended(job_verdict(&j));
}

static struct msg_job probe(uint32_t flags, uint64_t bytes)
{
	return (struct msg_job){ .job_id = { 3 },
				 .verb = JOB_PROBE,
				 .direction = JOB_PUSH,
				 .flags = flags,
				 .share = { "inbox", 5 },
				 .lanes = 1,
				 .block_bytes = MESSAGE_BLOCK_MIN,
				 .probe_bytes = bytes };
}

static bool begin(struct evil *e, uint32_t flags)
{
	const struct msg_job m = probe(flags, PROBE);

	return job_begin(&j, e, &m) && job_lanes(&j) && job_hear(&j, MSG_CREDIT);
}

static int announced(struct evil *e, enum entry_kind kind, uint64_t size)
{
	if (!begin(e, JOB_TO_DISK))
		return ended(V_FAULT);
	(void)job_add(&j, kind, HAUL_NO_INDEX, "probed", size);
	return job_announce(&j) ? judged() : ended(V_FAULT);
}

static int probe_longer_than_agreed(struct evil *e)
{
	return announced(e, ENTRY_FILE, PROBE + 1);
}

static int probe_of_a_small_file(struct evil *e)
{
	return announced(e, ENTRY_FILE, 1000);
}

static int probe_of_a_directory(struct evil *e)
{
	return announced(e, ENTRY_DIRECTORY, 0);
}

static int probe_of_a_link(struct evil *e)
{
	struct manifest_entry *entry;

	if (!begin(e, JOB_TO_DISK))
		return ended(V_FAULT);
	entry = job_add(&j, ENTRY_LINK, HAUL_NO_INDEX, "probed", 0);
	entry->link_target = (struct text){ "/etc/passwd", 11 };
	return job_announce(&j) ? judged() : ended(V_FAULT);
}

static int probe_of_two_files(struct evil *e)
{
	if (!begin(e, JOB_TO_DISK))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "one", PROBE);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "two", PROBE);
	return job_announce(&j) ? judged() : ended(V_FAULT);
}

/* The share as it is on this machine: whether anything of that name is in it. */
static bool is_in_share(const struct evil *e, const char *name)
{
	char path[4096];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", e->share_dir, name);
	return lstat(path, &st) == 0;
}

/* An honest one, over the name of a file that would be somebody's: proven, never committed, and nothing has that name.
 */
static int probe_is_kept_nowhere(struct evil *e, uint32_t flags)
{
	int verdict;

	if (!begin(e, flags))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "probed", PROBE);
	if (!job_announce(&j) || !job_announce_end(&j) || !job_hear(&j, MSG_WANT))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, PROBE, leaf, 1, 0);
	verdict = job_agree(&j);
	if (verdict != V_DONE)
		return ended(verdict);
	if (j.result_count != 1 || j.results[0].outcome != OUTCOME_PROVEN || j.results[0].flags & RESULT_COMMITTED)
		return ended(V_FAULT);
	return ended(is_in_share(e, "probed") ? V_FAULT : V_OK);
}

static int probe_to_disk_is_not_kept(struct evil *e)
{
	return probe_is_kept_nowhere(e, JOB_TO_DISK);
}

static int probe_to_memory_is_not_kept(struct evil *e)
{
	return probe_is_kept_nowhere(e, 0);
}

/* Wrong leaves are asked for again like any others; a measurement is no way around the digests. */
static int probe_with_wrong_leaves(struct evil *e)
{
	if (!begin(e, 0))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "probed", PROBE);
	if (!job_announce(&j) || !job_announce_end(&j) || !job_hear(&j, MSG_WANT))
		return ended(V_FAULT);
	for (unsigned round = 0; round < 5; round++)
		(void)lane_block(&j.lanes[0], 0, 0, PROBE, 0, 1, 1);
	return ended(
	    job_hear(&j, MSG_RESULT) && j.result_count == 1 && j.results[0].outcome == OUTCOME_FAILED ? V_OK : V_FAULT);
}

static int probe_of_more_than_the_disk(struct evil *e)
{
	const struct msg_job m = probe(JOB_TO_DISK, MESSAGE_PROBE_MAX);

	return job_begin(&j, e, &m) ? ended(V_FAULT) : ended((int)j.error);
}

/* What one measurement may write cannot be had twice; once it has ended it can. */
static int probe_of_room_that_is_taken(struct evil *e)
{
	struct statvfs fs;
	struct msg_job m;
	struct job other;
	uint64_t room;
	int verdict;

	if (statvfs(e->share_dir, &fs))
		return V_FAULT;
	room = (uint64_t)fs.f_bavail * fs.f_frsize / 5;
	m = probe(JOB_TO_DISK, (room < MESSAGE_PROBE_DISK_MAX ? room : MESSAGE_PROBE_DISK_MAX) / MIB * MIB);
	if (!job_begin(&j, e, &m))
		return ended((int)j.error);
	m.job_id[0]++;
	verdict = job_begin(&other, e, &m) ? V_FAULT : (int)other.error;
	job_close(&other);
	return ended(verdict);
}

static int pull_probe(struct evil *e, const char *path)
{
	struct msg_job m = evil_pull(path);
	int verdict;

	m.verb = JOB_PROBE;
	m.flags = JOB_TO_DISK;
	m.probe_bytes = PROBE;
	verdict = job_begin(&j, e, &m) ? V_FAULT : (int)j.error;
	return ended(verdict);
}

static int probe_reads_a_directory(struct evil *e)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s.dir", e->share_dir, e->name);
	(void)mkdir(path, 0755);
	(void)snprintf(path, sizeof(path), "%s.dir", e->name);
	return pull_probe(e, path);
}

static int probe_reads_through_a_link(struct evil *e)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s.link", e->share_dir, e->name);
	if (symlink("/etc", path))
		return V_FAULT;
	(void)snprintf(path, sizeof(path), "%s.link/passwd", e->name);
	return pull_probe(e, path);
}

static int probe_reads_what_is_not_there(struct evil *e)
{
	return pull_probe(e, "not/there");
}

const struct evil_case probe_cases[] = {
	CASE(probe_longer_than_agreed, CODE(BAD_VALUE)),
	CASE(probe_of_a_small_file, CODE(BAD_VALUE)),
	CASE(probe_of_a_directory, CODE(BAD_VALUE)),
	CASE(probe_of_a_link, CODE(BAD_VALUE)),
	CASE(probe_of_two_files, CODE(BAD_VALUE)),
	CASE(probe_to_disk_is_not_kept, V_OK),
	CASE(probe_to_memory_is_not_kept, V_OK),
	CASE(probe_with_wrong_leaves, V_OK),
	CASE(probe_of_more_than_the_disk, CODE(NO_SPACE)),
	CASE(probe_of_room_that_is_taken, CODE(NO_SPACE)),
	CASE(probe_reads_a_directory, CODE(WRONG_KIND)),
	CASE(probe_reads_through_a_link, CODE(LINK_IN_PATH), CODE(NOT_DIRECTORY)),
	CASE(probe_reads_what_is_not_there, CODE(NOT_FOUND)),
	{ 0 },
};
