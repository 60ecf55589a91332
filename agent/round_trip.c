/* Apart from the channel because <linux/tcp.h>, which has the fields, does not go together with <netinet/tcp.h>. */
#include "agent/round_trip.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

struct round_trip round_trip_of(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	struct round_trip r;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return (struct round_trip){ 0 };
	r.now_ns = r.least_ns = (uint64_t)info.tcpi_rtt * 1000;
	if (len >= offsetof(struct tcp_info, tcpi_min_rtt) + sizeof(info.tcpi_min_rtt) && info.tcpi_min_rtt &&
	    info.tcpi_min_rtt < info.tcpi_rtt)
		r.least_ns = (uint64_t)info.tcpi_min_rtt * 1000;
	return r;
}
