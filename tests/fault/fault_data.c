/* Calls on what is open: reading, writing, sizes, syncs. The kernel is called directly, whatever else is preloaded. */
#undef _FILE_OFFSET_BITS /* both names of a call are defined here: with and without 64 */
#include "tests/fault/fault_call.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static bool is_socket(int fd)
{
	struct stat st;
	int err = errno;
	bool is_one =
	    fault_plan.is_ready && fault_plan.kinds & FAULT_NET && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);

	errno = err;
	return is_one;
}

static enum fault_kind kind_of(int fd, bool *ret_is_ours)
{
	bool is_net = is_socket(fd);

	*ret_is_ours = is_net || fault_fd_is_ours(fd);
	return is_net ? FAULT_NET : FAULT_DISK;
}

/* What a call says that is not made. A connection that was reset is so for both ends and for good. */
static ssize_t refused(int fd)
{
	int err = errno;

	if (err == ECONNRESET)
		(void)syscall(SYS_shutdown, fd, SHUT_RDWR);
	errno = err;
	return -1;
}

/* Half of it, still a multiple of what direct I/O asks for. */
static size_t length(const struct fault_call *c, size_t len)
{
	if (c->deed != DEED_SHORT || len < 2)
		return len;
	return len / 2 >= PAGE ? len / 2 / PAGE * PAGE : len / 2;
}

static void data_done(struct fault_call *c, int fd, const void *data, ssize_t done, off_t offset)
{
	uint64_t at = c->is_recorded && done > 0 ? fault_log_data(data, (size_t)done) : 0;

	fault_call_end(c, done > 0, "data\t%s\t%lld\t%lld\t%llu", fault_id_of_fd(fd).text, (long long)offset,
		       (long long)done, (unsigned long long)at);
}

ssize_t write(int fd, const void *data, size_t len)
{
	struct fault_call c;
	off_t offset;
	ssize_t n;
	bool is_ours;
	enum fault_kind kind = kind_of(fd, &is_ours);

	if (!fault_call_begin(&c, kind, is_ours))
		return refused(fd);
	offset = c.is_recorded ? lseek(fd, 0, SEEK_CUR) : 0;
	n = syscall(SYS_write, fd, data, length(&c, len));
	data_done(&c, fd, data, n, offset);
	return n;
}

static ssize_t write_at(int fd, const void *data, size_t len, off_t offset)
{
	struct fault_call c;
	ssize_t n;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	n = syscall(SYS_pwrite64, fd, data, length(&c, len), offset);
	data_done(&c, fd, data, n, offset);
	return n;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	return write_at(fd, data, len, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
	return write_at(fd, data, len, offset);
}

ssize_t writev(int fd, const struct iovec *pieces, int count)
{
	struct fault_call c;
	ssize_t n;
	bool is_ours;
	enum fault_kind kind = kind_of(fd, &is_ours);

	if (!fault_call_begin(&c, kind, is_ours))
		return refused(fd);
	n = syscall(SYS_writev, fd, pieces, count);
	fault_call_end(&c, n > 0, "unknown\twritev");
	return n;
}

static ssize_t write_pieces_at(int fd, const struct iovec *pieces, int count, off_t offset)
{
	struct fault_call c;
	ssize_t n;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	n = syscall(SYS_pwritev, fd, pieces, count, offset, 0);
	fault_call_end(&c, n > 0, "unknown\tpwritev");
	return n;
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
	return write_pieces_at(fd, pieces, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off64_t offset)
{
	return write_pieces_at(fd, pieces, count, offset);
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	struct fault_call c;
	ssize_t n;

	if (!fault_call_begin(&c, FAULT_NET, is_socket(fd)))
		return refused(fd);
	n = syscall(SYS_sendto, fd, data, len, flags, NULL, 0);
	fault_call_end(&c, false, "send");
	return n;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct fault_call c;
	ssize_t n;

	if (!fault_call_begin(&c, FAULT_NET, is_socket(fd)))
		return refused(fd);
	n = syscall(SYS_sendmsg, fd, message, flags);
	fault_call_end(&c, false, "sendmsg");
	return n;
}

/* ---- reading ---- */

ssize_t read(int fd, void *data, size_t len)
{
	struct fault_call c;
	ssize_t n;

	if (!fault_call_begin(&c, FAULT_READ, fault_fd_is_ours(fd)))
		return -1;
	n = syscall(SYS_read, fd, data, length(&c, len));
	fault_call_end(&c, false, "read");
	return n;
}

static ssize_t read_at(int fd, void *data, size_t len, off_t offset)
{
	struct fault_call c;
	ssize_t n;

	if (!fault_call_begin(&c, FAULT_READ, fault_fd_is_ours(fd)))
		return -1;
	n = syscall(SYS_pread64, fd, data, length(&c, len), offset);
	fault_call_end(&c, false, "pread");
	return n;
}

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
	return read_at(fd, data, len, offset);
}

ssize_t pread64(int fd, void *data, size_t len, off64_t offset)
{
	return read_at(fd, data, len, offset);
}

ssize_t getdents64(int fd, void *data, size_t len)
{
	struct fault_call c;
	ssize_t n;

	if (!fault_call_begin(&c, FAULT_READ, fault_fd_is_ours(fd)))
		return -1;
	n = syscall(SYS_getdents64, fd, data, len);
	fault_call_end(&c, false, "getdents64");
	return n;
}

/* ---- sizes ---- */

static int set_size(int fd, off_t bytes)
{
	struct fault_call c;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	failed = syscall(SYS_ftruncate, fd, bytes);
	fault_call_end(&c, !failed, "size\t%s\t%lld", fault_id_of_fd(fd).text, (long long)bytes);
	return (int)failed;
}

int ftruncate(int fd, off_t bytes)
{
	return set_size(fd, bytes);
}

int ftruncate64(int fd, off64_t bytes)
{
	return set_size(fd, bytes);
}

static int allocate(int fd, int mode, off_t offset, off_t len)
{
	struct fault_call c;
	struct fault_id id;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	failed = syscall(SYS_fallocate, fd, mode, offset, len);
	id = fault_id_of_fd(fd);
	if (mode == 0)
		fault_call_end(&c, !failed, "alloc\t%s\t%lld", id.text, (long long)offset + len);
	else if (mode & (FALLOC_FL_ZERO_RANGE | FALLOC_FL_PUNCH_HOLE))
		fault_call_end(&c, !failed, "zero\t%s\t%lld\t%lld", id.text, (long long)offset, (long long)len);
	else
		fault_call_end(&c, !failed, "unknown\tfallocate");
	return (int)failed;
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
	return allocate(fd, mode, offset, len);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t len)
{
	return allocate(fd, mode, offset, len);
}

/* ---- syncs ---- */

/* Before it is over nobody can rely on it. */
static void take_time(const struct fault_call *c)
{
	const struct timespec pause = { .tv_sec = fault_plan.sync_ms / 1000,
					.tv_nsec = (long)(fault_plan.sync_ms % 1000) * 1000000 };

	if (c->is_recorded && fault_plan.sync_ms)
		(void)nanosleep(&pause, NULL);
}

static int sync_one(int fd, long number, const char *what)
{
	struct fault_call c;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	failed = syscall(number, fd);
	take_time(&c);
	fault_call_end(&c, !failed, "%s\t%s", what, fault_id_of_fd(fd).text);
	return (int)failed;
}

int fsync(int fd)
{
	return sync_one(fd, SYS_fsync, "sync");
}

int fdatasync(int fd)
{
	return sync_one(fd, SYS_fdatasync, "datasync");
}

int syncfs(int fd)
{
	struct fault_call c;
	struct stat st = { 0 };
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	failed = syscall(SYS_syncfs, fd);
	take_time(&c);
	(void)fstat(fd, &st);
	fault_call_end(&c, !failed, "syncall\t%llu", (unsigned long long)st.st_dev);
	return (int)failed;
}

/* Times and modes take part in no order that matters; they may fail as all else. */
int fchmod(int fd, mode_t mode)
{
	struct fault_call c;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	failed = syscall(SYS_fchmod, fd, mode);
	fault_call_end(&c, false, "fchmod");
	return (int)failed;
}

int futimens(int fd, const struct timespec times[2])
{
	struct fault_call c;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_fd_is_ours(fd)))
		return -1;
	failed = syscall(SYS_utimensat, fd, NULL, times, 0);
	fault_call_end(&c, false, "futimens");
	return (int)failed;
}
