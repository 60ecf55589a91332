/*
 * A link with a delay, a rate, a queue and losses, between two network namespaces.
 *
 * Usage: haul_tun_delay [OPTION...] NAMESPACE-A NAMESPACE-B
 *   --rtt MS         round trip, half of it each way; decimals are fine (default 0)
 *   --rate MBIT      Mbit/s each way, counted as an Ethernet device's token bucket counts (default: no limit)
 *   --queue BYTES    what waits before the narrow part at most; more is dropped (default: one round trip's bytes,
 *                    512 KiB at least)
 *   --loss PERCENT   of the packets as the kernel hands them over (default 0)
 *   --seed N         of the losses (default 1)
 *   --no-offload     packets of one MTU each; else the kernel hands over up to 64 KiB at once, as to a network card
 *   --name NAME      of the device in either namespace (default haul0)
 *
 * It makes a TUN device in each namespace (`ip netns`), prints "ready" once both are there, and forwards IP packets
 * until SIGTERM, SIGINT, or the end of who started it; then it says what was forwarded and dropped. Addresses and
 * routes are the caller's (bench/shape.sh). It is no proxy: TCP runs from end to end, and both ends see the delay and
 * the losses.
 *
 * Each direction has a thread and a ring of memory. A packet is read straight into the ring; when it leaves the narrow
 * part follows from when the one before it leaves and from its bytes, so the queue is a matter of arithmetic; after
 * half a round trip more it is written from the ring. Needs CAP_NET_ADMIN. Fails at the start or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	PACKET_MAX = 65536 + 64, /* the largest packet with its virtio header */
	SLOTS = 1 << 18,         /* packets on their way, each direction */
	READS_A_TURN = 64,
	ETHERNET_BYTES = 14, /* the header that a token bucket on an Ethernet device counts */
	QUEUE_LEAST = 512 * 1024,
	RATE_ASSUMED_MBIT = 10000, /* for the ring's size, when there is no limit */
};

struct options {
	double rtt_ms, rate_mbit, loss_percent;
	uint64_t queue_bytes, seed;
	bool is_queue_given, no_offload;
	const char *name;
};

struct packet {
	uint64_t due_ns;
	size_t at;
	uint32_t len;
};

struct direction {
	int from, to, stop;
	const struct options *options;
	uint64_t delay_ns, random;
	double ns_per_byte; /* 0: no limit */
	uint64_t free_ns;   /* when the narrow part has sent what it holds */
	uint8_t *ring;
	size_t ring_bytes, fill_at;
	struct packet *packets;
	uint64_t head, tail; /* packets[tail % SLOTS .. head % SLOTS) are on their way */
	uint64_t forwarded, bytes, queue_drops, losses, ring_drops;
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	int code = errno;
	va_list args;

	va_start(args, format);
	fputs("haul_tun_delay: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "%s%s\n", code ? ": " : "", code ? strerror(code) : "");
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- devices ---- */

static int make_tun(const struct options *o)
{
	unsigned offload = o->no_offload ? 0 : TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR };

	if (fd < 0)
		fail("/dev/net/tun");
	(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", o->name);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0)
		fail("%s: TUNSETIFF", o->name);
	if (ioctl(fd, TUNSETOFFLOAD, (unsigned long)offload) < 0)
		fail("%s: TUNSETOFFLOAD", o->name);
	return fd;
}

/* The device belongs to the namespace in which /dev/net/tun was opened. */
static int make_tun_in(const char *space, const struct options *o)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there, fd;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s%s", strchr(space, '/') ? "" : "/run/netns/", space);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (home < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0)
		fail("%s", path);
	fd = make_tun(o);
	if (setns(home, CLONE_NEWNET) < 0)
		fail("back from %s", path);
	close(home);
	close(there);
	return fd;
}

/* ---- the ring ---- */

/* Where PACKET_MAX bytes fit; false: nowhere. */
static bool ring_room(struct direction *d)
{
	size_t oldest;

	if (d->head == d->tail) {
		d->fill_at = 0;
		return true;
	}
	if (d->head - d->tail == SLOTS)
		return false;
	oldest = d->packets[d->tail % SLOTS].at;
	if (d->fill_at <= oldest)
		return oldest - d->fill_at > PACKET_MAX;
	if (d->ring_bytes - d->fill_at >= PACKET_MAX)
		return true;
	if (oldest <= PACKET_MAX)
		return false;
	d->fill_at = 0;
	return true;
}

static size_t ring_size(const struct options *o)
{
	double mbit = o->rate_mbit > 0 ? o->rate_mbit : RATE_ASSUMED_MBIT;
	double on_the_way = mbit * 125 * o->rtt_ms / 2;

	return (size_t)(2 * on_the_way) + 2 * (size_t)o->queue_bytes + 64 * (size_t)PACKET_MAX;
}

/* ---- the link ---- */

/* The bytes of all the packets of one MTU that a card would make of it. */
static uint64_t wire_bytes(const uint8_t *at, size_t len)
{
	struct virtio_net_hdr h;
	const uint8_t *packet = at + sizeof(h);
	size_t bytes = len - sizeof(h), headers, segments = 1, tcp_at;

	memcpy(&h, at, sizeof(h));
	tcp_at = h.csum_start;
	headers = tcp_at;
	if (h.gso_type != VIRTIO_NET_HDR_GSO_NONE && h.gso_size && tcp_at + 13 <= bytes) {
		headers += (size_t)(packet[tcp_at + 12] >> 4) * 4;
		if (bytes > headers)
			segments = (bytes - headers + h.gso_size - 1) / h.gso_size;
	}
	return bytes + (segments - 1) * headers + segments * ETHERNET_BYTES;
}

/* xorshift64* (Vigna, 2016). */
static bool is_lost(struct direction *d)
{
	d->random ^= d->random >> 12;
	d->random ^= d->random << 25;
	d->random ^= d->random >> 27;
	return (double)(d->random * 2685821657736338717u >> 11) / 9007199254740992.0 * 100 < d->options->loss_percent;
}

/* A packet of `len` bytes stands at fill_at. It joins the queue, if it may. */
static void packet_came(struct direction *d, size_t len, uint64_t now)
{
	uint64_t bytes = wire_bytes(d->ring + d->fill_at, len);
	uint64_t leaves = now;

	if (d->options->loss_percent > 0 && is_lost(d)) {
		d->losses++;
		return;
	}
	if (d->ns_per_byte > 0) {
		uint64_t start = d->free_ns > now ? d->free_ns : now;

		if ((double)(start - now) / d->ns_per_byte + (double)bytes > (double)d->options->queue_bytes) {
			d->queue_drops++;
			return;
		}
		leaves = start + (uint64_t)((double)bytes * d->ns_per_byte);
		d->free_ns = leaves;
	}
	d->packets[d->head++ % SLOTS] =
	    (struct packet){ .due_ns = leaves + d->delay_ns, .at = d->fill_at, .len = (uint32_t)len };
	d->fill_at += len;
	d->bytes += bytes;
}

static void take_in(struct direction *d)
{
	uint8_t nowhere[1];

	for (unsigned i = 0; i < READS_A_TURN; i++) {
		bool has_room = ring_room(d);
		ssize_t len = read(d->from, has_room ? d->ring + d->fill_at : nowhere, has_room ? PACKET_MAX : 1);

		if (len < 0)
			return;
		if (!has_room)
			d->ring_drops++;
		else if (len > (ssize_t)sizeof(struct virtio_net_hdr))
			packet_came(d, (size_t)len, now_ns());
	}
}

/* A device that is down takes nothing: that packet is lost, as it would be. */
static void let_out(struct direction *d)
{
	uint64_t now = now_ns();

	while (d->tail != d->head && d->packets[d->tail % SLOTS].due_ns <= now) {
		const struct packet *p = &d->packets[d->tail++ % SLOTS];

		if (write(d->to, d->ring + p->at, p->len) == (ssize_t)p->len)
			d->forwarded++;
		else
			d->ring_drops++;
	}
}

static void *forward(void *arg)
{
	struct direction *d = arg;
	struct pollfd fds[] = { { .fd = d->from, .events = POLLIN }, { .fd = d->stop, .events = POLLIN } };

	(void)prctl(PR_SET_TIMERSLACK, 1ul);
	while (!fds[1].revents) {
		struct timespec wait = { 0 };
		uint64_t now, due;
		bool has_packets;

		let_out(d);
		has_packets = d->tail != d->head;
		if (has_packets) {
			now = now_ns();
			due = d->packets[d->tail % SLOTS].due_ns;
			due = due > now ? due - now : 0;
			wait = (struct timespec){ (time_t)(due / 1000000000u), (long)(due % 1000000000u) };
		}
		fds[0].revents = 0;
		if (ppoll(fds, 2, has_packets ? &wait : NULL, NULL) > 0 && fds[0].revents)
			take_in(d);
	}
	return NULL;
}

/* ---- start and end ---- */

static void open_direction(struct direction *d, const struct options *o, int from, int to, int stop)
{
	*d = (struct direction){ .from = from,
				 .to = to,
				 .stop = stop,
				 .options = o,
				 .delay_ns = (uint64_t)(o->rtt_ms * 500000),
				 .random = o->seed * 2654435761u + (uint64_t)from + 1,
				 .ns_per_byte = o->rate_mbit > 0 ? 8000 / o->rate_mbit : 0,
				 .ring_bytes = ring_size(o) };
	d->ring = mmap(NULL, d->ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	d->packets = calloc(SLOTS, sizeof(*d->packets));
	if (d->ring == MAP_FAILED || !d->packets)
		fail("memory");
}

static void say_what_was(const char *from, const char *to, const struct direction *d)
{
	fprintf(stderr, "%s to %s: %llu packets, %llu bytes; dropped by the queue %llu, by chance %llu, else %llu\n",
		from, to, (unsigned long long)d->forwarded, (unsigned long long)d->bytes,
		(unsigned long long)d->queue_drops, (unsigned long long)d->losses, (unsigned long long)d->ring_drops);
}

static void run(const struct options *o, char **spaces)
{
	static struct direction d[2];
	sigset_t ends;
	int stop[2], a = make_tun_in(spaces[0], o), b = make_tun_in(spaces[1], o);
	pthread_t threads[2];
	int number;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (pipe(stop) < 0)
		fail("pipe");
	open_direction(&d[0], o, a, b, stop[0]);
	open_direction(&d[1], o, b, a, stop[0]);
	for (int i = 0; i < 2; i++) {
		errno = pthread_create(&threads[i], NULL, forward, &d[i]);
		if (errno)
			fail("thread");
	}
	puts("ready");
	fflush(stdout);
	(void)sigwait(&ends, &number);
	close(stop[1]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	say_what_was(spaces[0], spaces[1], &d[0]);
	say_what_was(spaces[1], spaces[0], &d[1]);
}

static double number(const char *text, double least, double most)
{
	char *end;
	double n = strtod(text, &end);

	errno = 0;
	if (end == text || *end || !(n >= least && n <= most))
		fail("%s is not a number from %g to %g", text, least, most);
	return n;
}

static void read_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "rtt", required_argument, NULL, 'd' },   { "rate", required_argument, NULL, 'r' },
		{ "queue", required_argument, NULL, 'q' }, { "loss", required_argument, NULL, 'l' },
		{ "seed", required_argument, NULL, 's' },  { "name", required_argument, NULL, 'n' },
		{ "no-offload", no_argument, NULL, 'o' },  { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->rtt_ms = number(optarg, 0, 2000);
			break;
		case 'r':
			o->rate_mbit = number(optarg, 0.01, 100000);
			break;
		case 'q':
			o->queue_bytes = (uint64_t)number(optarg, 3000, 1e9);
			o->is_queue_given = true;
			break;
		case 'l':
			o->loss_percent = number(optarg, 0, 100);
			break;
		case 's':
			o->seed = (uint64_t)number(optarg, 0, 1e15);
			break;
		case 'n':
			o->name = optarg;
			break;
		case 'o':
			o->no_offload = true;
			break;
		default:
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	struct options o = { .seed = 1, .name = "haul0" };

	read_options(argc, argv, &o);
	if (argc - optind != 2) {
		fprintf(stderr, "usage: haul_tun_delay [--rtt MS] [--rate MBIT] [--queue BYTES] [--loss PERCENT] "
				"[--seed N] [--no-offload] [--name NAME] NAMESPACE-A NAMESPACE-B\n");
		return 1;
	}
	if (!o.is_queue_given) {
		double round_trip = o.rate_mbit * 125 * o.rtt_ms;

		o.queue_bytes = round_trip > QUEUE_LEAST ? (uint64_t)round_trip : QUEUE_LEAST;
	}
	run(&o, argv + optind);
	return 0;
}
