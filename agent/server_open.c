/*
 * Opening what a job works on, on a worker: the share (links in its own path are followed), below it the destination
 * directory with its missing parents, or each source. Nothing below the share's top follows a link, but for a source
 * that is a link and was asked for with a slash, or sources whose links are to be followed: the kernel resolves them,
 * and refuses what would leave the share.
 */
#include "agent/server_parts.h"

#include "agent/quota.h"
#include "agent/serve_ask.h"
#include "engine/aside.h"
#include "engine/beneath.h"
#include "engine/file_system_id.h"
#include "engine/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void failed(struct session_job *j, haul_status st, struct text path)
{
	j->status = st;
	j->bad_path = path;
}

static void open_root(struct session_job *j)
{
	bool is_writing = j->m.verb == JOB_COPY && !(j->m.flags & JOB_DRY_RUN);
	bool has_umask = j->found.umask != UINT32_MAX;
	const struct make_path_config cfg = { .sync = !(j->m.flags & JOB_NO_SYNC),
					      .mode = 0777 & ~(mode_t)(has_umask ? j->found.umask : 0),
					      .owner = { j->found.own_uid, j->found.own_gid } };
	unsigned made = 0;
	haul_status st = HAUL_OK;

	if (is_writing)
		st = owner_probe(j->share_fd, &cfg.owner, &j->fault);
	if (haul_failed(st)) {
		failed(j, st, (struct text){ "", 0 });
		return;
	}
	if (is_writing)
		st = beneath_make_path(j->share_fd, j->root, &cfg, &made);
	if (haul_ok(st))
		st = beneath_open(j->share_fd, j->root, O_RDONLY | O_DIRECTORY, 0, &j->root_fd);
	if (haul_failed(st))
		j->root_fd = -1;
	j->root_existed = haul_ok(st) && !made;
	if (st.code == HAUL_CODE_NOT_FOUND && !is_writing)
		return; /* a dry run and a comparison can live with a destination that is not there */
	if (haul_failed(st))
		failed(j, st, j->m.root);
}

static haul_status open_source(struct session_job *j, const struct job_source *spec, struct scan_source *ret_source)
{
	bool follow_all = j->m.flags & JOB_FOLLOW_LINKS;
	bool is_move = j->m.flags & JOB_MOVE && !(j->m.flags & JOB_DRY_RUN);
	struct scan_source s = { .root_fd = j->share_fd, .path = strdup(spec->path.at) };
	struct entry_facts facts;
	haul_status st = HAUL_OK;

	if (spec->landing.len)
		s.landing = strdup(spec->landing.at);
	if (!s.path || (spec->landing.len && !s.landing))
		st = HAUL_NO_MEMORY;
	if (follow_all)
		s.links = LINKS_FOLLOWED_BELOW;
	if (haul_ok(st) && spec->follow && !follow_all) {
		st = beneath_open_following(j->share_fd, s.path, O_RDONLY | O_DIRECTORY, &s.root_fd);
		free((char *)(uintptr_t)s.path);
		s.path = strdup("");
		if (haul_failed(st))
			s.root_fd = j->share_fd;
	} else if (haul_ok(st)) {
		st = beneath_stat(j->share_fd, s.path, &facts);
		if (is_move && st.code == HAUL_CODE_NOT_FOUND) {
			(void)aside_restore_beside(j->share_fd, s.path);
			st = HAUL_OK; /* the scan tells what is gone: an attempt before may have moved it */
		}
	}
	if (haul_ok(st)) {
		*ret_source = s;
		return HAUL_OK;
	}
	free((char *)(uintptr_t)s.path);
	free((char *)(uintptr_t)s.landing);
	return st;
}

static void open_sources(struct session_job *j)
{
	for (size_t i = 0; i < j->m.source_count; i++) {
		haul_status st = open_source(j, &j->source_specs[i], &j->sources[j->source_count]);

		if (haul_failed(st)) {
			failed(j, st, j->source_specs[i].path);
			return;
		}
		j->source_count++;
	}
}

/* The policy follows what our end lies on; what cannot be looked at is unknown. */
static void look_at(struct session_job *j, int root_fd, const char *path)
{
	int fd = -1;

	if (*path && haul_failed(beneath_open(root_fd, path, O_PATH, 0, &fd)))
		fd = -1;
	device_facts_add(j->book, fd >= 0 ? fd : root_fd, &j->device);
	if (fd >= 0)
		(void)close(fd);
}

static void look_at_device(struct session_job *j)
{
	int fd = j->probe_fd >= 0 ? j->probe_fd : j->root_fd >= 0 ? j->root_fd : j->share_fd;

	if (!j->source_count)
		look_at(j, fd, "");
	else
		(void)file_system_id(j->sources[0].root_fd, j->source_fs);
	for (size_t i = 0; i < j->source_count; i++)
		look_at(j, j->sources[i].root_fd, j->sources[i].path);
	device_facts_set_kind(&j->device, j->m.server_device);
}

/* Room for a measurement is asked for like room for a file, but the disk is not filled with it. */
static void open_probe_sink(struct session_job *j)
{
	uint64_t free_bytes;
	haul_status st = room_of(j->share_fd, &free_bytes, NULL);

	if (haul_ok(st))
		j->disk_bytes = free_bytes / 4 < MESSAGE_PROBE_DISK_MAX ? free_bytes / 4 : MESSAGE_PROBE_DISK_MAX;
	if (haul_ok(st) && (j->root_fd = fcntl(j->share_fd, F_DUPFD_CLOEXEC, 0)) < 0)
		st = haul_status_from_errno(errno);
	if (haul_failed(st))
		failed(j, st, (struct text){ "", 0 });
}

/* A peer names it, so nothing but a regular file is ever opened: looked at by a handle that opens nothing, then by
 * that. */
static haul_status open_regular(int root_fd, const char *path, int *ret_fd, struct stat *ret_found)
{
	char own[32];
	int fd;
	haul_status st = beneath_open(root_fd, path, O_PATH, 0, &fd);

	if (haul_failed(st))
		return st;
	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (fstat(fd, ret_found))
		st = haul_status_from_errno(errno);
	else if (!S_ISREG(ret_found->st_mode))
		st = HAUL_WRONG_KIND;
	else if ((*ret_fd = open(own, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		st = haul_status_from_errno(errno);
	(void)close(fd);
	return st;
}

/* The announced length is what was asked for, or the whole file. */
static void open_probe_source(struct session_job *j)
{
	const struct job_source *spec = &j->source_specs[0];
	struct stat found;
	haul_status st = open_regular(j->share_fd, spec->path.at, &j->probe_fd, &found);

	if (haul_ok(st) && (uint64_t)found.st_size < MESSAGE_PROBE_MIN)
		st = HAUL_WRONG_KIND;
	if (haul_failed(st)) {
		failed(j, st, spec->path);
		return;
	}
	if ((uint64_t)found.st_size < j->m.probe_bytes)
		j->m.probe_bytes = (uint64_t)found.st_size;
}

static void open_probe(struct session_job *j)
{
	if (!(j->m.flags & JOB_TO_DISK))
		return;
	if (j->m.direction == JOB_PUSH)
		open_probe_sink(j);
	else
		open_probe_source(j);
}

void session_job_open(struct session_job *j)
{
	haul_status st = share_open(&j->found, true, &j->share_fd, NULL);

	if (haul_failed(st)) {
		j->share_fd = -1;
		failed(j, st, (struct text){ "", 0 });
		return;
	}
	if (j->m.verb == JOB_PROBE)
		open_probe(j);
	else if (j->m.direction == JOB_PUSH)
		open_root(j);
	else
		open_sources(j);
	if (haul_ok(j->status) && j->quota) {
		st = quota_load(j->quota, j->share_fd, &j->fault);
		if (haul_failed(st))
			failed(j, st, (struct text){ "", 0 });
	}
	if (haul_ok(j->status))
		look_at_device(j);
}
