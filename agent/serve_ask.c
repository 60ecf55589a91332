/*
 * Copying the question, and the answers about shares. What lies inside a share is answered in serve_entries.c.
 *
 * What does not exist for the asking device and what it may not see look the same from outside: a share without rights
 * is no share, and without the right to list every path is "cannot tell".
 */
#include "agent/serve_ask.h"

#include "agent/quota.h"
#include "agent/serve_entries.h"
#include "certs/rights.h"
#include "engine/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void free_offer(struct serve_offer *o)
{
	free(o->share.name);
	free(o->share.path);
}

static haul_status copy_offers(const struct share_list *shares, const struct peer *peer, struct serve_ask *a)
{
	for (size_t i = 0; i < shares->count && a->offer_count < MESSAGE_SHARES_MAX; i++) {
		const struct share *from = &shares->shares[i];
		struct serve_offer *to = &a->offers[a->offer_count];

		to->rights = peer_rights_on(peer, from->name, strlen(from->name));
		if (!to->rights)
			continue;
		to->quota = peer_quota_on(peer, from->name, strlen(from->name));
		to->share = *from;
		to->share.name = strdup(from->name);
		to->share.path = strdup(from->path);
		a->offer_count++;
		if (!to->share.name || !to->share.path)
			return HAUL_NO_MEMORY;
	}
	return HAUL_OK;
}

static haul_status copy_text(struct text from, struct text *ret_to)
{
	char *at = strndup(from.len ? from.at : "", from.len);

	if (!at)
		return HAUL_NO_MEMORY;
	*ret_to = (struct text){ at, from.len };
	return HAUL_OK;
}

static haul_status copy_question(const struct message *question, struct serve_ask *a)
{
	const struct msg_lookup *lookup = &question->lookup;
	haul_status st;

	a->type = question->type;
	if (question->type == MSG_LIST) {
		a->wants_partials = question->list.wants_partials;
		st = copy_text(question->list.share, &a->share);
		if (haul_ok(st))
			st = copy_text(question->list.after, &a->after);
		return haul_ok(st) ? copy_text(question->list.path, &a->paths[a->path_count++]) : st;
	}
	st = copy_text(lookup->share, &a->share);
	while (haul_ok(st) && a->path_count < lookup->path_count && a->path_count < MESSAGE_SOURCES_MAX) {
		st = copy_text(lookup->paths[a->path_count], &a->paths[a->path_count]);
		a->path_count++;
	}
	return st;
}

haul_status serve_ask_new(const struct share_list *shares, const struct peer *peer, const char *state_dir,
			  const struct message *question, struct serve_ask **ret_ask)
{
	struct serve_ask *a = calloc(1, sizeof(*a));
	haul_status st;

	if (!a)
		return HAUL_NO_MEMORY;
	a->state_dir = state_dir;
	memcpy(a->device_id, peer->device_id, sizeof(a->device_id));
	st = copy_text((struct text){ peer->name, strlen(peer->name) }, &a->peer_name);
	if (haul_ok(st))
		st = copy_offers(shares, peer, a);
	if (haul_ok(st))
		st = copy_question(question, a);
	if (haul_failed(st)) {
		serve_ask_free(a);
		return st;
	}
	*ret_ask = a;
	return HAUL_OK;
}

void serve_ask_free(struct serve_ask *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->offer_count; i++)
		free_offer(&a->offers[i]);
	for (size_t i = 0; i < a->path_count; i++)
		free((char *)a->paths[i].at);
	free((char *)a->peer_name.at);
	free((char *)a->share.at);
	free((char *)a->after.at);
	directory_page_close(&a->page);
	for (size_t i = 0; i < a->partial_count; i++) {
		free((char *)a->partials[i].id.at);
		free((char *)a->partials[i].path.at);
	}
	free(a->partials);
	free(a->found);
	free(a->entries);
	free(a->shares);
	free(a);
}

static bool is_same(struct text a, struct text b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

void serve_ask_continue(struct serve_ask *a, struct serve_ask *last)
{
	const struct msg_listing *l;

	if (!last || a->type != MSG_LIST || last->answer.type != MSG_LISTING)
		return;
	l = &last->answer.listing;
	if (!l->entry_count || !is_same(a->share, last->share) || !is_same(a->paths[0], last->paths[0]) ||
	    !is_same(a->after, l->entries[l->entry_count - 1].name))
		return;
	/* The names move whole; the last answer still points to some, but it has been sent. */
	a->page = last->page;
	a->seen = last->seen;
	last->page = (struct directory_page){ .count = 0 };
	last->answer = (struct message){ .type = MSG_ERROR };
}

haul_status share_open(const struct share *share, bool is_readable, int *ret_fd, struct haul_fault *fault)
{
	int fd = open(share->path, (is_readable ? O_RDONLY : O_PATH) | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return haul_fault_errno(fault, errno, "open the share %s", share->name);
	*ret_fd = fd;
	return HAUL_OK;
}

void serve_no_share(const struct share_list *shares, const struct peer *peer, struct text share, struct text *offered,
		    struct msg_error *ret_error)
{
	static const char words[] = "no such share";
	size_t count = 0;

	for (size_t i = 0; i < shares->count && count < MESSAGE_SHARES_MAX; i++) {
		const char *name = shares->shares[i].name;

		if (peer_rights_on(peer, name, strlen(name)))
			offered[count++] = (struct text){ name, strlen(name) };
	}
	*ret_error = (struct msg_error){ .code = HAUL_CODE_NO_SHARE,
					 .text = { words, sizeof(words) - 1 },
					 .share = share,
					 .your_name = { peer->name, strlen(peer->name) },
					 .offered = offered,
					 .offered_count = count };
}

void serve_refuse(struct serve_ask *a, haul_status st, const struct serve_offer *o)
{
	const char *words = haul_status_text(st);

	for (size_t i = 0; i < a->offer_count; i++)
		a->offered[i] = (struct text){ a->offers[i].share.name, strlen(a->offers[i].share.name) };
	a->answer = (struct message){ .type = MSG_ERROR };
	a->answer.error = (struct msg_error){ .code = st.code,
					      .text = { words, strlen(words) },
					      .share = a->share,
					      .path = a->path_count ? a->paths[0] : (struct text){ "", 0 },
					      .your_name = a->peer_name,
					      .held_rights = o ? o->rights : 0,
					      .offered = a->offered,
					      .offered_count = a->offer_count };
	if (st.code == HAUL_CODE_NO_RIGHT)
		a->answer.error.missing_right = RIGHT_LIST;
}

/* Both 0 where the file system does not tell. */
static void measure(int fd, uint64_t *ret_free, uint64_t *ret_total)
{
	if (haul_failed(room_of(fd, ret_free, ret_total)))
		*ret_free = *ret_total = 0;
}

/* Free is what this device may still put there. */
static void limit_room(const struct serve_ask *a, const struct serve_offer *o, int share_fd, uint64_t *free_bytes)
{
	uint64_t used, left;

	if (!o->quota.bytes || !a->state_dir)
		return;
	if (haul_failed(quota_used(a->state_dir, a->device_id, o->share.name, &o->quota, share_fd, &used)))
		used = o->quota.bytes;
	left = o->quota.bytes > used ? o->quota.bytes - used : 0;
	if (left < *free_bytes)
		*free_bytes = left;
}

static void list_shares(struct serve_ask *a)
{
	a->shares = calloc(a->offer_count + 1, sizeof(*a->shares));
	if (!a->shares) {
		serve_refuse(a, HAUL_NO_MEMORY, NULL);
		return;
	}
	for (size_t i = 0; i < a->offer_count; i++) {
		const struct serve_offer *o = &a->offers[i];
		struct listing_share *to = &a->shares[i];
		int fd;

		to->name = (struct text){ o->share.name, strlen(o->share.name) };
		to->rights = o->rights;
		if (haul_failed(share_open(&o->share, false, &fd, NULL)))
			continue;
		measure(fd, &to->free_bytes, &to->total_bytes);
		limit_room(a, o, fd, &to->free_bytes);
		close(fd);
	}
	a->answer = (struct message){ .type = MSG_LISTING };
	a->answer.listing = (struct msg_listing){ .shares = a->shares, .share_count = a->offer_count };
}

static const struct serve_offer *find_offer(const struct serve_ask *a)
{
	for (size_t i = 0; i < a->offer_count; i++)
		if (is_same(a->share, (struct text){ a->offers[i].share.name, strlen(a->offers[i].share.name) }))
			return &a->offers[i];
	return NULL;
}

static void answer_in_share(struct serve_ask *a, const struct serve_offer *o)
{
	uint64_t total;
	haul_status st;
	int fd;

	if (a->type == MSG_LIST && !(o->rights & RIGHT_LIST)) {
		serve_refuse(a, HAUL_NO_RIGHT, o);
		return;
	}
	st = share_open(&o->share, false, &fd, NULL);
	if (haul_failed(st)) {
		serve_refuse(a, st, o);
		return;
	}
	if (a->type == MSG_LOOKUP) {
		serve_look_up(a, o, fd);
		if (a->answer.type == MSG_FOUND) {
			measure(fd, &a->answer.found.free_bytes, &total);
			limit_room(a, o, fd, &a->answer.found.free_bytes);
		}
	} else if (a->wants_partials) {
		serve_list_partials(a, o, fd);
	} else {
		serve_list_entries(a, o, fd);
	}
	close(fd);
}

void serve_ask_run(struct serve_ask *a)
{
	const struct serve_offer *o = find_offer(a);

	if (a->type == MSG_LIST && !a->share.len)
		list_shares(a);
	else if (!o)
		serve_refuse(a, HAUL_NO_SHARE, NULL);
	else
		answer_in_share(a, o);
}

const struct message *serve_ask_answer(const struct serve_ask *a)
{
	return &a->answer;
}
