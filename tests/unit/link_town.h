/* A listener with an agent behind it and a client, over real sockets on loopback: for tests of links and lanes. */
#ifndef HAUL_TESTS_LINK_TOWN_H
#define HAUL_TESTS_LINK_TOWN_H

#include "tests/unit/net_fixture.h"

#include "agent/control_link.h"
#include "agent/listener.h"

/* What a side does when a message of this type comes. */
struct side {
	struct control_link *link;
	struct channel *channel; /* client: until the link has it */
	enum message_type last;
	unsigned messages;
	bool has_message, is_over, is_closed, is_detached;
	haul_status why;
	char text[HAUL_FAULT_TEXT_MAX];
	char peer_says[64];
	bool refuses, finishes;
	uint32_t refuse_code; /* 0: HAUL_NO_SHARE */
	unsigned drops;       /* server: so many connections are closed before anything is said */
	uint8_t device[32];
};

struct town {
	uv_loop_t loop;
	struct device nas, edit;
	struct listener *listener;
	bool is_listener_closed;
	struct side server, client;
	struct channel_parts *parts;
	struct channel *lane_server, *lane_client;
	bool is_lane_done, is_lane_read;
	haul_status lane_why;
	size_t lane_got;
};

/* Emptied by town_open(). */
extern struct town t;

int town_open(void **state);
int town_open_impatient(void **state); /* who says nothing for 300 ms has to go */
int town_close(void **state);

struct sockaddr_storage town_address(void); /* of the listener */
void town_connect(void);                    /* a client's link; t.client */

void town_side_closed(void *ctx); /* of a link or channel; ctx is the side */
/* A channel has ended before it became a link: noted in the side, closed. */
void town_channel_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault);
void town_nothing(void *ctx, struct channel *ch); /* a channel's callback that does nothing */

#endif
