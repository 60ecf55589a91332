/*
 * The last look and unlinkat() are two calls, and what somebody writes between them goes with the file: Linux has no
 * call that deletes a name only while it leads to a given inode in a given state. They follow each other directly.
 */
#include "agent/eraser_entry.h"

#include "agent/eraser_meta.h"
#include "engine/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Both ends of an entry in hand. */
struct ends {
	const struct eraser_source *from;
	int to_fd; /* owned */
	const char *to_name;
};

/* By all that renaming leaves as it is: it sets the change time. */
static bool is_same_content(const struct entry_facts *was, const struct entry_facts *is)
{
	return was->kind == is->kind && entry_is_same(was, is) && was->size == is->size &&
	       entry_time_equal(&was->mtime, &is->mtime);
}

bool eraser_is_unchanged(const struct entry_facts *was, const struct entry_facts *is)
{
	return is_same_content(was, is) && entry_time_equal(&was->ctime, &is->ctime);
}

bool eraser_is_not_empty(haul_status st)
{
	return st.code == HAUL_NOT_EMPTY.code || st.code == HAUL_EXISTS.code;
}

static bool is_same_link(int dir_fd, const char *name, int to_fd, const char *to_name)
{
	char *here = NULL, *there = NULL;
	size_t here_len, there_len;
	bool is_same = haul_ok(beneath_read_link(dir_fd, name, &here, &here_len)) &&
		       haul_ok(beneath_read_link(to_fd, to_name, &there, &there_len)) && here_len == there_len &&
		       memcmp(here, there, here_len) == 0;

	free(here);
	free(there);
	return is_same;
}

/* What has landed is still there, just as it was then, and not the very entry that is to be deleted. */
static haul_status check_landing(const struct eraser_entry *e, const struct ends *at, struct haul_fault *fault)
{
	struct entry_facts there;

	if (haul_failed(beneath_stat_at(at->to_fd, at->to_name, &there)) || there.kind != e->facts.kind)
		return haul_fault_set(fault, HAUL_CHANGED, "what landed is not there any more");
	if (entry_is_same(&there, &e->facts))
		return haul_fault_set(fault, HAUL_SAME_FILE, "what is at the destination is the very same file");
	if (!e->is_new && eraser_may_be_one(&at->from->now, &there))
		return haul_fault_set(fault, HAUL_SAME_FILE,
				      "what is at the destination may be the very same, seen through another file "
				      "system: both have changed at the same nanosecond");
	if (there.kind != ENTRY_DIRECTORY && (there.size != e->facts.size || !eraser_is_unchanged(&e->landing, &there)))
		return haul_fault_set(fault, HAUL_CHANGED, "what landed has changed");
	return HAUL_OK;
}

/* The two directories are apart, and what this run has not written there is durable. Once for a run of entries. */
static haul_status prove_pair(struct eraser_proofs *p, const struct eraser_entry *e, const struct ends *at,
			      struct haul_fault *fault)
{
	struct entry_facts to;
	haul_status st = beneath_stat_handle(at->to_fd, &to);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	if (p->pair.dir_number != at->from->dir_number || p->pair.device != to.device || p->pair.inode != to.inode) {
		p->pair.dir_number = at->from->dir_number;
		p->pair.device = to.device;
		p->pair.inode = to.inode;
		p->pair.apart = eraser_prove_apart(at->from->dir_fd, at->to_fd, &p->pair.fault);
	}
	if (haul_failed(p->pair.apart)) {
		*fault = p->pair.fault;
		return p->pair.apart;
	}
	return e->is_new ? HAUL_OK : eraser_sync(&p->synced, at->to_fd, at->to_name, to.device, fault);
}

static haul_status check_entry(struct eraser_proofs *p, const struct eraser_entry *e, const struct ends *at,
			       struct haul_fault *fault)
{
	haul_status st = check_landing(e, at, fault);

	if (haul_ok(st) && e->facts.kind == ENTRY_LINK &&
	    !is_same_link(at->from->dir_fd, at->from->name, at->to_fd, at->to_name))
		st = haul_fault_set(fault, HAUL_CHANGED, "what landed has changed");
	if (haul_ok(st))
		st = eraser_check_meta(at->from->dir_fd, at->from->name, at->to_fd, at->to_name, fault);
	return haul_ok(st) ? prove_pair(p, e, at, fault) : st;
}

/* Back under its own name. Where that is taken meanwhile, or cannot be, the private name is told. */
static haul_status put_back(const struct ends *at, const char *aside, haul_status st, struct haul_fault *fault)
{
	char why[HAUL_FAULT_TEXT_MAX];

	if (renameat2(at->from->dir_fd, aside, at->from->dir_fd, at->from->name, RENAME_NOREPLACE) == 0)
		return st;
	(void)snprintf(why, sizeof(why), "%s", fault->text);
	return haul_fault_set(fault, st, "%.300s; it is now %s in its directory: %s", why, aside, strerror(errno));
}

/*
 * For what this run did not write: take the name away, see that the destination still has it, and only then let go.
 * What is one file by two ways is gone there too, and comes back.
 */
static haul_status unlink_equal(const struct eraser_entry *e, const struct ends *at, struct haul_fault *fault)
{
	char aside[ERASER_NAME_BYTES];
	struct entry_facts moved;
	haul_status st = eraser_private_name("aside-", aside);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	if (renameat2(at->from->dir_fd, at->from->name, at->from->dir_fd, aside, RENAME_NOREPLACE))
		return haul_fault_errno(fault, errno, "it cannot be set aside");
	st = check_landing(e, at, fault);
	if (haul_ok(st) &&
	    (haul_failed(beneath_stat_at(at->from->dir_fd, aside, &moved)) || !is_same_content(&e->facts, &moved)))
		st = haul_fault_set(fault, HAUL_CHANGED, "it has changed since it was read");
	if (haul_ok(st) && unlinkat(at->from->dir_fd, aside, 0))
		st = haul_fault_errno(fault, errno, "it cannot be deleted");
	return haul_ok(st) ? st : put_back(at, aside, st, fault);
}

/* What stands in the way of a directory was told, unless it was never looked at: names that are reserved for haul. */
static haul_status remove_directory(const struct eraser_source *from, struct haul_fault *fault)
{
	haul_status st;
	struct dirent *d;
	DIR *dir;
	int fd;

	if (unlinkat(from->dir_fd, from->name, AT_REMOVEDIR) == 0)
		return HAUL_OK;
	st = haul_fault_errno(fault, errno, "it cannot be deleted");
	if (!eraser_is_not_empty(st))
		return st;
	fd = openat(from->dir_fd, from->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (d = readdir(dir))) {
		if (haul_component_check(d->d_name, strlen(d->d_name)).code == HAUL_RESERVED_NAME.code) {
			st = haul_fault_set(fault, HAUL_RESERVED_NAME,
					    "names in it are reserved for haul (.haul, .haul.*, .haul-*) and were not "
					    "copied: rename them and run again");
			break;
		}
	}
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
	return st;
}

static haul_status unlink_entry(const struct eraser_entry *e, const struct ends *at, struct haul_fault *fault)
{
	if (e->facts.kind == ENTRY_DIRECTORY)
		return remove_directory(at->from, fault);
	if (!e->is_new)
		return unlink_equal(e, at, fault);
	return unlinkat(at->from->dir_fd, at->from->name, 0) ? haul_fault_errno(fault, errno, "it cannot be deleted")
							     : HAUL_OK;
}

/* Where times may hide a change they are not believed: its bytes are looked at, and then its times once more. */
static haul_status check_fresh(const struct eraser_proofs *p, const struct eraser_entry *e, const struct ends *at,
			       struct haul_fault *fault)
{
	struct entry_facts now;
	haul_status st;

	if (e->facts.kind != ENTRY_FILE || !eraser_is_fresh(&e->facts, p->began))
		return HAUL_OK;
	st = eraser_compare(at->from->dir_fd, at->from->name, at->to_fd, at->to_name, p->stop, fault);
	if (haul_ok(st) && (haul_failed(beneath_stat_at(at->from->dir_fd, at->from->name, &now)) ||
			    !eraser_is_unchanged(&e->facts, &now)))
		st = haul_fault_set(fault, HAUL_CHANGED, "it has changed since it was read");
	return st;
}

haul_status eraser_entry_erase(struct eraser_proofs *p, const struct eraser_entry *e, const struct eraser_source *from,
			       struct haul_fault *fault)
{
	struct ends at = { .from = from };
	haul_status st = beneath_parent(p->root_fd, e->landing_path, &at.to_fd, &at.to_name);

	if (haul_failed(st))
		return haul_fault_set(fault, HAUL_CHANGED, "what landed is not there any more");
	st = check_entry(p, e, &at, fault);
	if (haul_ok(st))
		st = check_fresh(p, e, &at, fault);
	if (haul_ok(st))
		st = unlink_entry(e, &at, fault);
	(void)close(at.to_fd);
	return st;
}
