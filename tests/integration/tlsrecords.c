/*
 * Read a packet capture and prove that everything on one TCP port is TLS 1.3: each direction of each connection is a
 * whole row of records; the server's hello selects 1.3; after the hellos every record is application data, but for the
 * empty change of cipher and an alert.
 *
 * Usage: haul_tlsrecords PORT FILE.pcap. Exit 0 and a line of counts, or 1 and what is wrong.
 * It reads pcap files with micro- or nanoseconds and Ethernet or raw framing, as tcpdump -s 0 writes them on loopback.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FLOWS_MAX = 256,
	FLOW_BYTES_MAX = 256 * 1024 * 1024,
	PACKET_MAX = 262144,
	LINK_ETHERNET = 1,
	RECORD_CCS = 20,
	RECORD_ALERT = 21,
	RECORD_HANDSHAKE = 22,
	RECORD_DATA = 23,
	RECORD_MAX = 16384 + 256,
};

/* One direction of one connection. */
struct flow {
	uint8_t addresses[32];
	uint16_t source, target;
	uint32_t first_seq; /* of the first byte after SYN */
	uint8_t *bytes;
	size_t length; /* without a gap from first_seq on */
	size_t room;
};

static struct flow flows[FLOWS_MAX];
static size_t flow_count;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static struct flow *flow_find(const uint8_t addresses[32], uint16_t source, uint16_t target)
{
	for (size_t i = flow_count; i > 0; i--) {
		struct flow *f = &flows[i - 1];

		if (f->source == source && f->target == target && memcmp(f->addresses, addresses, 32) == 0)
			return f;
	}
	return NULL;
}

static void flow_open(const uint8_t addresses[32], uint16_t source, uint16_t target, uint32_t seq)
{
	const struct flow *known = flow_find(addresses, source, target);
	struct flow *f;

	if (known && known->first_seq == seq + 1)
		return; /* the SYN once more */
	if (flow_count == FLOWS_MAX)
		fail("more than %d flows", FLOWS_MAX);
	f = &flows[flow_count++];
	*f = (struct flow){ .source = source, .target = target, .first_seq = seq + 1 };
	memcpy(f->addresses, addresses, 32);
}

/* Append what continues the flow; what was sent again is dropped, a hole means that the capture lost a packet. */
static void flow_take(struct flow *f, uint32_t seq, const uint8_t *data, size_t n)
{
	uint32_t at = seq - f->first_seq;
	uint32_t known = (uint32_t)f->length;

	if ((int32_t)(at - known) > 0)
		fail("the capture lost packets: port %u to %u, %u bytes missing", f->source, f->target, at - known);
	if ((int32_t)(at + (uint32_t)n - known) <= 0)
		return;
	data += known - at;
	n -= known - at;
	if (f->length + n > FLOW_BYTES_MAX)
		fail("a flow of more than %d bytes", FLOW_BYTES_MAX);
	if (f->length + n > f->room) {
		f->room = (f->length + n) * 2;
		f->bytes = realloc(f->bytes, f->room);
		if (!f->bytes)
			fail("out of memory");
	}
	memcpy(f->bytes + f->length, data, n);
	f->length += n;
}

static void take_tcp(const uint8_t addresses[32], const uint8_t *tcp, size_t n, uint16_t port)
{
	uint16_t source, target;
	size_t header;
	struct flow *f;

	if (n < 20)
		return;
	source = get16(tcp);
	target = get16(tcp + 2);
	header = (size_t)(tcp[12] >> 4) * 4;
	if ((source != port && target != port) || header < 20 || header > n)
		return;
	if (tcp[13] & 2) {
		flow_open(addresses, source, target, get32(tcp + 4));
		return;
	}
	f = flow_find(addresses, source, target);
	if (f && n > header)
		flow_take(f, get32(tcp + 4), tcp + header, n - header);
}

static void take_ip(const uint8_t *p, size_t n, uint16_t port)
{
	uint8_t addresses[32] = { 0 };
	size_t header, total;

	if (n >= 20 && p[0] >> 4 == 4) {
		header = (size_t)(p[0] & 15) * 4;
		total = get16(p + 2);
		if (total == 0) /* segmentation was left to the device */
			total = n;
		if (p[9] != 6 || header < 20 || total < header || total > n)
			return;
		memcpy(addresses, p + 12, 8);
	} else if (n >= 40 && p[0] >> 4 == 6) {
		header = 40;
		total = get16(p + 4) ? 40 + (size_t)get16(p + 4) : n;
		if (p[6] != 6 || total > n)
			return;
		memcpy(addresses, p + 8, 32);
	} else {
		return;
	}
	take_tcp(addresses, p + header, total - header, port);
}

static void read_capture(const char *path, uint16_t port)
{
	static uint8_t packet[PACKET_MAX];
	uint32_t file_header[6], head[4];
	FILE *in = fopen(path, "rb");

	if (!in || fread(file_header, sizeof(file_header), 1, in) != 1)
		fail("%s: cannot be read", path);
	if (file_header[0] != 0xa1b2c3d4 && file_header[0] != 0xa1b23c4d)
		fail("%s: not a pcap file of this machine's byte order", path);
	while (fread(head, sizeof(head), 1, in) == 1) {
		size_t skip = file_header[5] == LINK_ETHERNET ? 14 : 0;

		if (head[2] > PACKET_MAX || fread(packet, 1, head[2], in) != head[2])
			break; /* cut off in the middle of the last packet */
		if (head[2] < head[3])
			fail("packets were cut to %u bytes: capture with -s 0", head[2]);
		if (head[2] > skip)
			take_ip(packet + skip, head[2] - skip, port);
	}
	fclose(in);
}

/* Whether a server hello carries the extension supported_versions with 0x0304. */
static bool selects_tls13(const uint8_t *hello, size_t n)
{
	for (size_t i = 0; i + 6 <= n; i++)
		if (memcmp(hello + i, "\x00\x2b\x00\x02\x03\x04", 6) == 0)
			return true;
	return false;
}

static void check_record(const struct flow *f, const uint8_t *r, size_t index, bool is_server)
{
	size_t n = get16(r + 3);

	if (r[0] < RECORD_CCS || r[0] > RECORD_DATA || r[1] != 3 || (r[2] != 3 && !(index == 0 && r[2] == 1)))
		fail("port %u: record %zu begins %02x %02x %02x: not TLS 1.3", f->source, index, r[0], r[1], r[2]);
	if (n > RECORD_MAX || n == 0)
		fail("port %u: record %zu of %zu bytes", f->source, index, n);
	if (index == 0 && is_server && r[0] == RECORD_HANDSHAKE && !selects_tls13(r + 5, n))
		fail("the server on port %u did not select TLS 1.3", f->source);
	if (index > 0 && r[0] == RECORD_HANDSHAKE)
		fail("port %u: record %zu is a handshake message in clear", f->source, index);
	if (r[0] == RECORD_CCS && n != 1)
		fail("port %u: change of cipher of %zu bytes", f->source, n);
}

/* Returns the number of records; a record cut off by the end of the connection counts as none. */
static size_t check_flow(const struct flow *f, uint16_t port)
{
	size_t at = 0, count = 0;

	while (f->length - at >= 5) {
		check_record(f, f->bytes + at, count, f->source == port);
		at += 5 + (size_t)get16(f->bytes + at + 3);
		if (at > f->length)
			break;
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	size_t records = 0, bytes = 0;
	uint16_t port;

	if (argc != 3)
		fail("usage: haul_tlsrecords PORT FILE.pcap");
	port = (uint16_t)strtoul(argv[1], NULL, 10);
	read_capture(argv[2], port);
	for (size_t i = 0; i < flow_count; i++) {
		records += check_flow(&flows[i], port);
		bytes += flows[i].length;
		free(flows[i].bytes);
	}
	if (records == 0)
		fail("no TLS record on port %u", port);
	printf("%zu flows, %zu records, %zu bytes: TLS 1.3 throughout\n", flow_count, records, bytes);
	return 0;
}
