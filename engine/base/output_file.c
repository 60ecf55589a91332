/* Opened without O_TRUNC and looked at through the very descriptor that is written to, so that nothing can slip between
 * the look and the write. */
#include "engine/base/output_file.h"

#include "engine/base/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char trace_mark[] = "{\"job\":";

/* Links of others may lead anywhere: /tmp is everybody's. Those of root (/dev/stdout) and our own are meant. */
static bool may_follow(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid());
}

/* Regular files are read too, for their mark. */
static int access_mode(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) ? O_WRONLY : O_RDWR;
}

static int open_it(const char *path, bool *ret_is_made)
{
	int flags = access_mode(path) | O_CLOEXEC | O_NOCTTY, fd;

	*ret_is_made = false;
	if (may_follow(path))
		return open(path, flags | O_CREAT, 0666);
	fd = open(path, flags | O_NOFOLLOW);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd = open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
	*ret_is_made = fd >= 0;
	return fd;
}

static bool has_mark(int fd, off_t size, enum output_mark mark)
{
	char head[sizeof(trace_mark) - 1], end[2];

	if (mark == OUTPUT_NUL_LIST) /* no path is empty; archives and images end with many NULs */
		return size > 1 && pread(fd, end, sizeof(end), size - 2) == sizeof(end) && end[0] && !end[1];
	return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) && !memcmp(head, trace_mark, sizeof(head));
}

haul_status output_file_open(struct output_file *f, const char *option, const char *path, enum output_mark mark,
			     struct haul_fault *fault)
{
	char shown[HAUL_FAULT_TEXT_MAX / 2];
	bool is_made;
	int fd = open_it(path, &is_made);
	struct stat st;

	*f = (struct output_file){ .is_ours = is_made };
	haul_escape(path, strlen(path), shown, sizeof(shown));
	if (fd < 0 && errno == ELOOP)
		return haul_fault_set(fault, HAUL_USAGE,
				      "%s %s is a link of another user's, or leads in a circle: name the file itself",
				      option, shown);
	if (fd < 0)
		return haul_fault_errno(fault, errno, "%s %s cannot be opened", option, shown);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size && !has_mark(fd, st.st_size, mark)) {
		(void)close(fd);
		return haul_fault_set(fault, HAUL_USAGE,
				      "%s %s: that file is there already, and is no %s: name another, or remove it",
				      option, shown, mark == OUTPUT_TRACE ? "trace" : "list of failed paths");
	}
	f->path = strdup(path);
	f->file = f->path ? fdopen(fd, "w") : NULL;
	if (f->file)
		return HAUL_OK;
	free(f->path);
	(void)close(fd);
	*f = (struct output_file){ 0 };
	return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for %s %s", option, shown);
}

haul_status output_file_begin(struct output_file *f)
{
	struct stat st;

	if (f->is_begun)
		return HAUL_OK;
	f->is_begun = true;
	if (fstat(fileno(f->file), &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fileno(f->file), 0))
		return haul_status_from_errno(errno);
	return HAUL_OK;
}

/* What was made and never begun goes, if it is still the file of that name. */
static void unmake(const struct output_file *f)
{
	struct stat made, named;

	if (f->is_ours && !f->is_begun && fstat(fileno(f->file), &made) == 0 && lstat(f->path, &named) == 0 &&
	    made.st_dev == named.st_dev && made.st_ino == named.st_ino && !named.st_size)
		(void)unlink(f->path);
}

int output_file_close(struct output_file *f)
{
	int err = 0;

	if (!f->file)
		return 0;
	unmake(f);
	errno = 0;
	if (ferror(f->file))
		err = EIO;
	if (fclose(f->file))
		err = errno ? errno : EIO;
	free(f->path);
	*f = (struct output_file){ 0 };
	return err;
}
