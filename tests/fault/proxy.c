/*
 * A link that misbehaves: connections to a port of 127.0.0.1 are passed on to another, byte by byte as they come, until
 * something is to happen to them.
 *
 *     haul_proxy PORT [--listen PORT] [--delay MS] [--rate BYTES_PER_S] [--FAULT-after N] [--times K] [--one] [--lanes]
 *                [--down] [--stall-ms MS] [--kill PID] [--mark N]
 *
 * Prints `listening PORT`, and `struck K` each time. N counts the bytes of all connections in both directions since the
 * beginning, or since it last struck; after K times (1) all is well. By itself it strikes every connection there is,
 * with --one only the one over which the byte went; with --down nobody is let in any more from then on. With --lanes
 * the first connection is left alone, and its bytes do not count. FAULT is
 *
 *   reset    both ends hear RST
 *   hole     the connections stay open, nothing is taken from them and nothing comes
 *   half     who would have heard the byte hears the end instead; the other direction goes on
 *   stall    as hole, for --stall-ms, also for who calls meanwhile; then everything goes on
 *   corrupt  the byte is another one
 *   trickle  one byte a second goes on in each direction
 *   kill     the process of --kill is killed (SIGKILL); the bytes go on
 *   stop     the same process is stopped (SIGSTOP)
 *
 * --mark N prints `marked MS`, the time of day in milliseconds, when N bytes have passed.
 *
 * One thread and poll(2). Ends with its parent, or by a signal.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS_MAX = 64, CHUNK_BYTES = 64 * 1024, QUEUE_BYTES_MAX = 4 * 1024 * 1024 };

enum fault {
	FAULT_NONE,
	FAULT_RESET,
	FAULT_HOLE,
	FAULT_HALF,
	FAULT_STALL,
	FAULT_TRICKLE,
	FAULT_CORRUPT,
	FAULT_KILL,
	FAULT_STOP
};

struct chunk {
	struct chunk *next;
	uint64_t due_ns;
	size_t len, sent;
	uint8_t bytes[CHUNK_BYTES];
};

/* What goes from one end to the other. */
struct way {
	struct chunk *first, *last;
	size_t queued;
	uint64_t free_ns; /* with --rate: when the next byte may leave */
	bool is_over;     /* the end has been read, or was made up */
	bool is_shut;     /* and told */
};

struct pair {
	int fd[2];         /* who called, whom we called; -1: none */
	struct way way[2]; /* way[i]: from fd[i] */
	bool is_held, is_spared;
	uint64_t held_until_ns; /* 0: for good */
	bool is_trickling;
};

static struct {
	uint16_t to, listen;
	uint64_t delay_ns, rate, after, stall_ns, mark;
	enum fault fault;
	unsigned times;
	pid_t victim;
	bool is_one, is_down, is_lanes;
} option = { .times = 1 };

static struct pair pairs[PAIRS_MAX];
static unsigned taken; /* connections */
static uint64_t passed, passed_in_all;
static unsigned struck;
static uint64_t stalled_until_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the end of a pair ---- */

static void pair_close(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		struct chunk *c;

		if (p->fd[i] >= 0)
			close(p->fd[i]);
		while ((c = p->way[i].first)) {
			p->way[i].first = c->next;
			free(c);
		}
	}
	*p = (struct pair){ .fd = { -1, -1 } };
}

static void pair_reset(struct pair *p)
{
	const struct linger at_once = { .l_onoff = 1 };

	for (int i = 0; i < 2; i++) {
		if (p->fd[i] >= 0)
			(void)setsockopt(p->fd[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	}
	pair_close(p);
}

/* ---- what is to happen ---- */

static void strike_pair(struct pair *p, int from)
{
	if (p->fd[0] < 0)
		return;
	switch (option.fault) {
	case FAULT_RESET:
		pair_reset(p);
		break;
	case FAULT_HOLE:
		p->is_held = true;
		break;
	case FAULT_HALF:
		p->way[from].is_over = true;
		break;
	case FAULT_STALL:
		p->is_held = true;
		p->held_until_ns = stalled_until_ns;
		break;
	case FAULT_TRICKLE:
		p->is_trickling = true;
		break;
	case FAULT_NONE:
	case FAULT_CORRUPT: /* its byte alone: way_read() */
	case FAULT_KILL:
	case FAULT_STOP:
		break;
	}
}

static void strike(struct pair *at, int from)
{
	passed = 0;
	printf("struck %u\n", ++struck);
	fflush(stdout);
	if (option.fault == FAULT_STALL)
		stalled_until_ns = now_ns() + option.stall_ns;
	if (option.fault == FAULT_KILL || option.fault == FAULT_STOP)
		(void)kill(option.victim, option.fault == FAULT_KILL ? SIGKILL : SIGSTOP);
	for (struct pair *p = pairs; p < pairs + PAIRS_MAX; p++) {
		if (p == at || (!option.is_one && !p->is_spared))
			strike_pair(p, from);
	}
}

/* How many of these bytes go on before it strikes. */
static size_t until_strike(size_t len)
{
	if (option.fault == FAULT_NONE || struck >= option.times || passed + len < option.after)
		return len;
	return (size_t)(option.after - passed);
}

/* ---- bytes ---- */

static void mark(size_t len)
{
	struct timespec t;

	if (option.mark && passed_in_all < option.mark && passed_in_all + len >= option.mark) {
		clock_gettime(CLOCK_REALTIME, &t);
		printf("marked %lld\n", (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000);
		fflush(stdout);
	}
	passed_in_all += len;
}

/* Faults that take the byte with them; of the others the rest of what was read goes on. */
static bool is_cut(void)
{
	return option.fault == FAULT_RESET || option.fault == FAULT_HOLE || option.fault == FAULT_HALF;
}

static void way_put(struct way *w, struct chunk *c)
{
	uint64_t now = now_ns();

	if (option.rate) {
		w->free_ns = (w->free_ns > now ? w->free_ns : now) + c->len * 1000000000 / option.rate;
		c->due_ns = w->free_ns;
	} else {
		c->due_ns = now;
	}
	c->due_ns += option.delay_ns;
	if (w->last)
		w->last->next = c;
	else
		w->first = c;
	w->last = c;
	w->queued += c->len;
}

static void way_read(struct pair *p, int from)
{
	struct way *w = &p->way[from];
	struct chunk *c = calloc(1, sizeof(*c));
	ssize_t n;
	size_t len;
	bool is_struck;

	if (!c)
		die("memory");
	n = read(p->fd[from], c->bytes, sizeof(c->bytes));
	if (n <= 0) {
		free(c);
		if (n == 0)
			w->is_over = true;
		else if (errno != EAGAIN && errno != EINTR)
			pair_reset(p);
		return;
	}
	len = p->is_spared ? (size_t)n : until_strike((size_t)n);
	is_struck = len < (size_t)n;
	if (is_struck && !is_cut()) {
		if (option.fault == FAULT_CORRUPT)
			c->bytes[len] ^= 1;
		len = (size_t)n;
	}
	passed += p->is_spared ? 0 : len;
	mark(len);
	c->len = len;
	if (len)
		way_put(w, c);
	else
		free(c);
	if (is_struck)
		strike(p, from);
}

/* What is due; the end follows the last byte. False: the pair is gone. */
static bool way_write(struct pair *p, int from)
{
	struct way *w = &p->way[from];
	uint64_t now = now_ns();

	while (w->first && w->first->due_ns <= now) {
		struct chunk *c = w->first;
		size_t len = p->is_trickling ? 1 : c->len - c->sent;
		ssize_t n = send(p->fd[!from], c->bytes + c->sent, len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n < 0) {
			pair_reset(p);
			return false;
		}
		c->sent += (size_t)n;
		w->queued -= (size_t)n;
		if (c->sent == c->len) {
			w->first = c->next;
			if (!w->first)
				w->last = NULL;
			free(c);
		}
		if (p->is_trickling && w->first)
			w->first->due_ns = now + 1000000000;
	}
	if (!w->first && w->is_over && !w->is_shut) {
		w->is_shut = true;
		(void)shutdown(p->fd[!from], SHUT_WR);
	}
	return true;
}

/* ---- connections ---- */

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void make_ready(int fd)
{
	int one = 1;

	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void take_connection(int listen_fd)
{
	const struct sockaddr_in there = local(option.to);
	int caller = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC), called = tcp_socket();
	struct pair *p = pairs;

	while (p < pairs + PAIRS_MAX && p->fd[0] >= 0)
		p++;
	if (caller < 0 || (option.is_down && struck) || p == pairs + PAIRS_MAX ||
	    connect(called, (const struct sockaddr *)&there, sizeof(there))) {
		if (caller >= 0)
			close(caller); /* nobody is there: the end, at once */
		close(called);
		return;
	}
	make_ready(caller);
	make_ready(called);
	*p = (struct pair){ .fd = { caller, called },
			    .is_spared = option.is_lanes && !taken++,
			    .is_held = stalled_until_ns > now_ns(),
			    .held_until_ns = stalled_until_ns };
}

static int open_listener(void)
{
	struct sockaddr_in here = local(option.listen);
	socklen_t len = sizeof(here);
	int fd = tcp_socket(), one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&here, len) || listen(fd, 64) ||
	    getsockname(fd, (struct sockaddr *)&here, &len))
		die("listen");
	printf("listening %u\n", ntohs(here.sin_port));
	fflush(stdout);
	return fd;
}

/* ---- the loop ---- */

static short wanted(const struct pair *p, int i, uint64_t now)
{
	const struct way *from = &p->way[i], *to = &p->way[!i];
	short events = 0;

	if (p->is_held)
		return 0;
	if (!from->is_over && from->queued < QUEUE_BYTES_MAX)
		events |= POLLIN;
	if (to->first && to->first->due_ns <= now)
		events |= POLLOUT;
	return events;
}

/* Until the next chunk is due or a stall ends; -1: until something comes. */
static int wait_ms(uint64_t now)
{
	uint64_t due = UINT64_MAX;

	for (const struct pair *p = pairs; p < pairs + PAIRS_MAX; p++) {
		if (p->is_held && p->held_until_ns && p->held_until_ns < due)
			due = p->held_until_ns;
		for (int i = 0; i < 2 && !p->is_held; i++) {
			const struct chunk *c = p->way[i].first;

			if (c && c->due_ns > now && c->due_ns < due)
				due = c->due_ns;
		}
	}
	return due == UINT64_MAX ? -1 : due <= now ? 0 : (int)((due - now) / 1000000) + 1;
}

static void serve_pair(struct pair *p, const struct pollfd *ready)
{
	if (p->is_held && p->held_until_ns && p->held_until_ns <= now_ns())
		p->is_held = false;
	for (int i = 0; i < 2 && p->fd[0] >= 0 && !p->is_held; i++) {
		if (ready[i].revents & (POLLIN | POLLHUP | POLLERR) && !p->way[i].is_over)
			way_read(p, i);
	}
	for (int i = 0; i < 2 && p->fd[0] >= 0 && !p->is_held; i++) {
		if (!way_write(p, i))
			return;
	}
	if (p->fd[0] >= 0 && p->way[0].is_shut && p->way[1].is_shut)
		pair_close(p);
}

static void turn(int listen_fd)
{
	struct pollfd fds[1 + 2 * PAIRS_MAX] = { { .fd = listen_fd, .events = POLLIN } };
	uint64_t now = now_ns();

	for (int n = 0; n < PAIRS_MAX; n++) {
		for (int i = 0; i < 2; i++) {
			short events = wanted(&pairs[n], i, now);

			/* Without anything wanted a hang-up would be told again and again. */
			fds[1 + 2 * n + i] = (struct pollfd){ .fd = events ? pairs[n].fd[i] : -1, .events = events };
		}
	}
	if (poll(fds, 1 + 2 * PAIRS_MAX, wait_ms(now)) < 0 && errno != EINTR)
		die("poll");
	for (int n = 0; n < PAIRS_MAX; n++) {
		if (pairs[n].fd[0] >= 0)
			serve_pair(&pairs[n], &fds[1 + 2 * n]);
	}
	if (fds[0].revents & POLLIN)
		take_connection(listen_fd);
}

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long n = text ? strtoull(text, &end, 10) : 0;

	if (!text || !*text || *end) {
		fprintf(stderr, "haul_proxy: a number is wanted\n");
		exit(2);
	}
	return n;
}

static void set_fault(enum fault fault, const char *text)
{
	option.fault = fault;
	option.after = number(text);
}

static void parse(char **at)
{
	for (; *at; at++) {
		if (!strcmp(*at, "--one"))
			option.is_one = true;
		else if (!strcmp(*at, "--lanes"))
			option.is_lanes = true;
		else if (!strcmp(*at, "--down"))
			option.is_down = true;
		else if (!strcmp(*at, "--stall-ms"))
			option.stall_ns = number(*++at) * 1000000;
		else if (!strcmp(*at, "--kill"))
			option.victim = (pid_t)number(*++at);
		else if (!strcmp(*at, "--mark"))
			option.mark = number(*++at);
		else if (!strcmp(*at, "--listen"))
			option.listen = (uint16_t)number(*++at);
		else if (!strcmp(*at, "--delay"))
			option.delay_ns = number(*++at) * 1000000;
		else if (!strcmp(*at, "--rate"))
			option.rate = number(*++at);
		else if (!strcmp(*at, "--times"))
			option.times = (unsigned)number(*++at);
		else if (!strcmp(*at, "--reset-after"))
			set_fault(FAULT_RESET, *++at);
		else if (!strcmp(*at, "--hole-after"))
			set_fault(FAULT_HOLE, *++at);
		else if (!strcmp(*at, "--half-after"))
			set_fault(FAULT_HALF, *++at);
		else if (!strcmp(*at, "--stall-after"))
			set_fault(FAULT_STALL, *++at);
		else if (!strcmp(*at, "--corrupt-after"))
			set_fault(FAULT_CORRUPT, *++at);
		else if (!strcmp(*at, "--kill-after"))
			set_fault(FAULT_KILL, *++at);
		else if (!strcmp(*at, "--trickle-after"))
			set_fault(FAULT_TRICKLE, *++at);
		else if (!strcmp(*at, "--stop-after"))
			set_fault(FAULT_STOP, *++at);
		else
			option.to = (uint16_t)number(*at);
	}
}

int main(int argc, char **argv)
{
	int listen_fd;

	(void)argc;
	parse(argv + 1);
	if (!option.to) {
		fprintf(stderr, "usage: haul_proxy PORT [OPTION...]\n");
		return 2;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int n = 0; n < PAIRS_MAX; n++)
		pairs[n].fd[0] = pairs[n].fd[1] = -1;
	listen_fd = open_listener();
	for (;;)
		turn(listen_fd);
}
