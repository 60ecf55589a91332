/*
 * A hostile peer: speaks the real protocol over real TLS and breaks one rule per case.
 *
 *   haul_evil list
 *       names of all cases of a client
 *   haul_evil client HOME OTHER PORT SHARE NAME...
 *       run cases against a hauld; HOME is a device it knows, OTHER another, SHARE the directory of its share `inbox`
 *   haul_evil servers
 *       the cases of a server: NAME, the client's words, its exit codes
 *   haul_evil server HOME NAME
 *       listen, say the port, play the case with the next client
 *
 * Exit 0 if every verdict was as expected; else each that was not is named.
 */
#include "evil_script.h"

#include "certs/identity.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct evil_case *const tables[] = { talk_cases,  manifest_cases, push_cases,
						  again_cases, pull_cases,     probe_cases };
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static const struct evil_case *find(const char *name)
{
	for (size_t t = 0; t < TABLES; t++) {
		for (const struct evil_case *c = tables[t]; c->name; c++) {
			if (!strcmp(c->name, name))
				return c;
		}
	}
	return NULL;
}

static const char *verdict_text(int verdict, char *ret_text, size_t cap)
{
	static const char *const own[] = { "", "done", "closed", "silent", "the script failed", "ok" };

	if (verdict < 0)
		(void)snprintf(ret_text, cap, "%s", own[-verdict]);
	else
		(void)snprintf(ret_text, cap, "%d %s", verdict,
			       haul_status_text(haul_status_from_number((unsigned)verdict)));
	return ret_text;
}

static bool is_whole(const char *path, uint64_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t buffer[65536];
	uint64_t at = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0) {
		n = read(fd, buffer, sizeof(buffer));
		for (ssize_t i = 0; i < n; i++) {
			if (buffer[i] != content_at(at++))
				n = -1;
		}
	}
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 && n == 0 && at == size;
}

/* What must be true of the case's directory. */
static bool is_left_right(const struct evil *e, const struct evil_case *c)
{
	char path[4096];
	struct stat st;

	if (c->absent) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", e->share_dir, c->name, c->absent);
		if (lstat(path, &st) == 0) {
			printf("%s: %s is there\n", c->name, path);
			return false;
		}
	}
	if (c->whole) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", e->share_dir, c->name, c->whole);
		if (!is_whole(path, c->size)) {
			printf("%s: %s is not as it was sent\n", c->name, path);
			return false;
		}
	}
	return true;
}

static bool run_case(struct evil *e, const struct evil_case *c)
{
	char text[128];
	int verdict;

	e->name = c->name;
	verdict = c->run(e);
	for (size_t i = 0; i < 3 && c->expect[i]; i++) {
		if (verdict == c->expect[i])
			return is_left_right(e, c);
	}
	printf("%s: %s\n", c->name, verdict_text(verdict, text, sizeof(text)));
	return false;
}

static struct dial_trust *trust_of(const char *home_dir)
{
	struct haul_fault fault = { 0 };
	struct dial_trust *t = NULL;
	struct home h;
	haul_status st = home_open(&h, home_dir, &fault);

	if (haul_ok(st)) {
		st = dial_trust_new(&h, &t, &fault);
		home_close(&h);
	}
	if (haul_failed(st)) {
		fprintf(stderr, "%s: %s\n", home_dir, fault.text);
		exit(2);
	}
	return t;
}

static int run_client(char **args, int count)
{
	struct evil e = { .trust = trust_of(args[0]),
			  .other = trust_of(args[1]),
			  .port = (unsigned)atoi(args[2]),
			  .share_dir = args[3] };
	int bad = 0;

	for (int i = 4; i < count; i++) {
		const struct evil_case *c = find(args[i]);

		if (!c)
			printf("%s: no such case\n", args[i]);
		bad += !c || !run_case(&e, c);
	}
	dial_trust_free(e.trust);
	dial_trust_free(e.other);
	return bad != 0;
}

static int open_door(unsigned *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&at, &len)) {
		perror("listen");
		exit(2);
	}
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int run_server(const char *home_dir, const char *name)
{
	struct evil e = { .trust = trust_of(home_dir), .name = name };
	int fd = open_door(&e.port), got = V_FAULT;
	char text[128];

	printf("listening %u\n", e.port);
	(void)fflush(stdout);
	for (const struct evil_server_case *c = server_cases; c->name; c++) {
		if (!strcmp(c->name, name))
			got = c->run(&e, fd);
	}
	(void)close(fd);
	dial_trust_free(e.trust);
	printf("%s\n", verdict_text(got, text, sizeof(text)));
	return got == V_FAULT;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(verb, "client") && argc > 6)
		return run_client(argv + 2, argc - 2);
	if (!strcmp(verb, "server") && argc == 4)
		return run_server(argv[2], argv[3]);
	if (!strcmp(verb, "list")) {
		for (size_t t = 0; t < TABLES; t++) {
			for (const struct evil_case *c = tables[t]; c->name; c++)
				printf("%s\n", c->name);
		}
		return 0;
	}
	if (!strcmp(verb, "servers")) {
		for (const struct evil_server_case *c = server_cases; c->name; c++)
			printf("%s\t%s\t%s\n", c->name, c->words, c->exits);
		return 0;
	}
	fprintf(stderr, "usage: haul_evil list | client ... | servers | server ...\n");
	return 2;
}
