/*
 * The server's answers to LOOKUP and LIST. A question is copied on the loop, with what the asking device may do, then
 * answered by blocking calls on a worker, so that no list of peers or shares is touched outside the loop:
 *
 *   serve_ask_new()   loop      serve_ask_run()   worker      serve_ask_answer(), serve_ask_free()   loop
 *
 * A share's own path is opened as it is, links in it followed; below it none are (engine/beneath.h).
 */
#ifndef HAUL_AGENT_SERVE_ASK_H
#define HAUL_AGENT_SERVE_ASK_H

#include "agent/peers.h"
#include "agent/shares.h"
#include "peer-protocol/message.h"

struct serve_ask;

/*
 * peer      who asks; borrowed, like all here
 * state_dir where its quotas are counted; held; NULL: they are not
 * question  MSG_LOOKUP or MSG_LIST
 * ret_ask   given: serve_ask_free()
 * HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status serve_ask_new(const struct share_list *shares, const struct peer *peer, const char *state_dir,
					const struct message *question, struct serve_ask **ret_ask);

/*
 * Before serve_ask_run(), on the loop: if `a` goes on where `last` stopped (the next page of the same directory), take
 * over the names that it has read already, so that a directory is not read anew for every page. Never needed: without
 * it, or for another question, the answer is the same but slower. last may be NULL.
 */
void serve_ask_continue(struct serve_ask *a, struct serve_ask *last);

/* Find the answer. Blocks on the disk; any thread, once. */
void serve_ask_run(struct serve_ask *a);

/*
 * FOUND, LISTING or ERROR (no such share, right missing, no such directory …), borrowed until serve_ask_free().
 * A share on which the device has no right does not exist for it.
 */
const struct message *serve_ask_answer(const struct serve_ask *a);

void serve_ask_free(struct serve_ask *a); /* NULL is fine */

/*
 * Open a share's own directory, following links in its path. *ret_fd is given: a handle for beneath_…(), opened O_PATH,
 * or for reading when `is_readable`.
 */
HAUL_MUST_USE haul_status share_open(const struct share *share, bool is_readable, int *ret_fd,
				     struct haul_fault *fault);

/* The ERROR for a share that this device is not offered, with those that it is. Texts are borrowed from all three. */
void serve_no_share(const struct share_list *shares, const struct peer *peer, struct text share,
		    struct text *offered /* MESSAGE_SHARES_MAX */, struct msg_error *ret_error);

#endif
