/* Loops that survive a lack of memory. */
#ifndef HAUL_AGENT_LOOP_OPEN_H
#define HAUL_AGENT_LOOP_OPEN_H

#include <uv.h>

/*
 * uv_loop_init(), and a reserve for libuv: it ends the process when it cannot make a loop's table of descriptors
 * longer. From the first call on such a request that finds no memory is served from 64 KiB that are set aside for this;
 * what was asked of libuv goes on, and who asks for memory next is told. All its other requests fail as they are, which
 * it answers for.
 *
 * 0 or one of libuv's errors. Thread: any.
 */
int loop_open(uv_loop_t *loop);

#endif
