/*
 * Finding the home and making it on first use. The rules are those of docs/CLI.md "Home": what was asked for, else
 * HAUL_HOME, else by uid. Whoever could write the directories could make us trust another device, so they belong to
 * the caller alone; anything else is refused with the command that puts it right.
 */
#include "agent/home.h"

#include "agent/agent_lock.h"
#include "engine/base/escape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_MAX = 256, MACHINE_NAME_MAX = 32 };

/* PATH, or the current directory and PATH. NULL without memory. */
static char *absolute(const char *path)
{
	char *cwd, *full = NULL;

	if (*path == '/')
		return strdup(path);
	cwd = getcwd(NULL, 0);
	if (cwd && asprintf(&full, "%s/%s", cwd, path) < 0)
		full = NULL;
	free(cwd);
	return full;
}

/* ret_path: given. `variable` when it holds an absolute path (as the XDG rules ask), else BELOW in the user's home. */
static haul_status xdg_directory(const char *variable, const char *below, char **ret_path, struct haul_fault *fault)
{
	const char *base = getenv(variable), *user = getenv("HOME");
	const struct passwd *entry;
	char *path;
	int n;

	if (base && *base == '/') {
		n = asprintf(&path, "%s/haul", base);
	} else {
		entry = user && *user == '/' ? NULL : getpwuid(geteuid());
		if (entry)
			user = entry->pw_dir;
		if (!user || *user != '/')
			return haul_fault_set(fault, HAUL_NOT_FOUND,
					      "no home directory is known: set HOME, or name one with --home DIR");
		n = asprintf(&path, "%s/%s/haul", user, below);
	}
	if (n < 0)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	*ret_path = path;
	return HAUL_OK;
}

static haul_status place_in(struct home *h, const char *dir, struct haul_fault *fault)
{
	h->config_dir = absolute(dir);
	if (!h->config_dir)
		return haul_fault_errno(fault, errno, "find the home %s", dir);
	if (asprintf(&h->state_dir, "%s/state", h->config_dir) >= 0)
		return HAUL_OK;
	h->state_dir = NULL;
	return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
}

static haul_status place_for_system(struct home *h, struct haul_fault *fault)
{
	h->is_system = true;
	h->config_dir = strdup("/etc/haul");
	h->state_dir = strdup("/var/lib/haul");
	if (!h->config_dir || !h->state_dir)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	return HAUL_OK;
}

static haul_status place_by_xdg(struct home *h, struct haul_fault *fault)
{
	haul_status st = xdg_directory("XDG_CONFIG_HOME", ".config", &h->config_dir, fault);

	return haul_ok(st) ? xdg_directory("XDG_STATE_HOME", ".local/state", &h->state_dir, fault) : st;
}

static haul_status place_home(struct home *h, const char *asked, struct haul_fault *fault)
{
	const char *named = asked ? asked : getenv("HAUL_HOME");

	if (named && *named)
		return place_in(h, named, fault);
	return geteuid() ? place_by_xdg(h, fault) : place_for_system(h, fault);
}

/* Every missing directory of an absolute path, the user's own: 0700. */
static haul_status make_path(const char *path, struct haul_fault *fault)
{
	char *partial = strdup(path);
	haul_status st = HAUL_OK;
	char *slash = partial;

	if (!partial)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "out of memory");
	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (access(partial, F_OK) && mkdir(partial, 0700) && errno != EEXIST) {
			st = haul_fault_errno(fault, errno, "make the directory %s", partial);
			break;
		}
		if (slash)
			*slash = '/';
	} while (slash);
	free(partial);
	return st;
}

static bool is_empty_directory(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	unsigned names = 0;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while ((entry = readdir(dir)))
		names += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return !names;
}

static haul_status refuse_owner(const char *shown, uid_t owner, struct haul_fault *fault)
{
	const struct passwd *entry = getpwuid(owner);
	char number[32];

	snprintf(number, sizeof(number), "uid %u", owner);
	return haul_fault_set(fault, HAUL_DENIED,
			      "%s belongs to %s: run it as that user, or name another home with --home DIR", shown,
			      entry ? entry->pw_name : number);
}

/* The directory is ours alone. An empty one that is too open (fresh from mkdir) is closed to others, not refused. */
static haul_status check_directory(const char *path, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];
	haul_status st = HAUL_OK;
	struct stat facts;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	haul_escape(path, strlen(path), shown, sizeof(shown));
	if (fd < 0 && errno == EACCES && !stat(path, &facts) && facts.st_uid != geteuid())
		return refuse_owner(shown, facts.st_uid, fault);
	if (fd < 0)
		return haul_fault_errno(fault, errno, "open the home %s", shown);
	if (fstat(fd, &facts))
		st = haul_fault_errno(fault, errno, "look at the home %s", shown);
	else if (facts.st_uid != geteuid())
		st = refuse_owner(shown, facts.st_uid, fault);
	else if ((facts.st_mode & 077) && !(is_empty_directory(fd) && !fchmod(fd, 0700)))
		st = haul_fault_set(fault, HAUL_DENIED, "%s is open to other users: chmod 700 %s", shown, shown);
	close(fd);
	return st;
}

static haul_status prepare(const char *path, struct haul_fault *fault)
{
	haul_status st = make_path(path, fault);

	return haul_ok(st) ? check_directory(path, fault) : st;
}

static haul_status open_found(struct home *h, struct home *found, haul_status st, struct haul_fault *fault)
{
	if (haul_ok(st))
		st = prepare(found->config_dir, fault);
	if (haul_ok(st))
		st = prepare(found->state_dir, fault);
	if (haul_ok(st))
		*h = *found;
	else
		home_close(found);
	return st;
}

haul_status home_open(struct home *h, const char *asked, struct haul_fault *fault)
{
	struct home found = { .config_dir = NULL };

	return open_found(h, &found, place_home(&found, asked, fault), fault);
}

haul_status home_find(struct home *h, const char *asked, struct haul_fault *fault)
{
	struct home found = { .config_dir = NULL };
	haul_status st = place_home(&found, asked, fault);

	if (haul_ok(st) && access(found.config_dir, F_OK) && (errno == ENOENT || errno == ENOTDIR))
		st = haul_fault_set(fault, HAUL_NOT_FOUND, "there is no home %s", found.config_dir);
	if (haul_ok(st))
		*h = found;
	else
		home_close(&found);
	return st;
}

haul_status home_open_system(struct home *h, struct haul_fault *fault)
{
	struct home found = { .config_dir = NULL };

	return open_found(h, &found, place_for_system(&found, fault), fault);
}

void home_close(struct home *h)
{
	free(h->config_dir);
	free(h->state_dir);
	*h = (struct home){ .config_dir = NULL };
}

haul_status home_open_config(const struct home *h, int *ret_fd, struct haul_fault *fault)
{
	int fd = open(h->config_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return haul_fault_errno(fault, errno, "open the home %s", h->config_dir);
	*ret_fd = fd;
	return HAUL_OK;
}

void home_machine_name(char *ret_name, size_t cap)
{
	char host[256] = "";
	size_t used = 0;

	if (gethostname(host, sizeof(host) - 1))
		*host = '\0';
	for (const char *p = host; *p && *p != '.' && used < MACHINE_NAME_MAX && used + 1 < cap; p++) {
		char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';

		ret_name[used++] = is_plain ? c : '-';
	}
	ret_name[used] = '\0';
	if (!used || !strncmp(ret_name, "localhost", 9))
		snprintf(ret_name, cap, "machine");
}

bool home_agent_runs(const struct home *h, char *ret_addresses, size_t cap, int *ret_pid)
{
	return agent_lock_look(h->state_dir, ret_addresses, cap, ret_pid);
}
