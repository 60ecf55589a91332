/* The lock is held for a few instructions per block of megabytes; lanes never wait in here for work. */
#include "agent/block_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A range of a file that was taken and not sent. */
struct returned_work {
	struct list link;
	struct send_work work;
};

haul_status block_queue_open(struct block_queue *q, uint32_t block_bytes)
{
	*q = (struct block_queue){ .block_leaves = block_bytes / HAUL_LEAF_BYTES };
	list_init(&q->files);
	list_init(&q->packs);
	list_init(&q->returned);
	return pthread_mutex_init(&q->lock, NULL) ? HAUL_NO_MEMORY : HAUL_OK;
}

void block_queue_set_order(struct block_queue *q, bool is_by_place, uint64_t run_bytes)
{
	q->is_by_place = is_by_place;
	q->run_bytes = q->run_left = run_bytes;
}

/* Given: its file's reference. False: there is none. */
static bool pop_returned(struct block_queue *q, struct send_work *ret_work)
{
	struct list *item = list_pop_front(&q->returned);
	struct returned_work *r = item ? list_item(item, struct returned_work, link) : NULL;

	if (r)
		*ret_work = r->work;
	free(r);
	return r != NULL;
}

void block_queue_close(struct block_queue *q)
{
	struct send_work work;
	struct list *item;

	while (pop_returned(q, &work))
		send_file_drop(work.file);
	while ((item = list_pop_front(&q->files)))
		send_file_drop(list_item(item, struct send_file, link));
	while ((item = list_pop_front(&q->packs)))
		send_pack_free(list_item(item, struct send_pack, link));
	(void)pthread_mutex_destroy(&q->lock);
}

/* How far the disk goes on from the file in turn; what lies before it comes after the turn around. */
static uint64_t way_to(const struct block_queue *q, const struct send_file *f)
{
	return f->place - q->place_now;
}

/* The file in turn stays at the head: it is sent whole. */
static void add_by_place(struct block_queue *q, struct send_file *f)
{
	struct list *at = q->files.next;

	if (at != &q->files && list_item(at, struct send_file, link)->is_begun)
		at = at->next;
	while (at != &q->files && way_to(q, list_item(at, struct send_file, link)) <= way_to(q, f))
		at = at->next;
	list_push_back(at, &f->link); /* before it: the list is a ring */
}

void block_queue_add_file(struct block_queue *q, struct send_file *f)
{
	(void)pthread_mutex_lock(&q->lock);
	if (q->is_by_place)
		add_by_place(q, f);
	else
		list_push_back(&q->files, &f->link);
	(void)pthread_mutex_unlock(&q->lock);
}

void block_queue_add_pack(struct block_queue *q, struct send_pack *p)
{
	(void)pthread_mutex_lock(&q->lock);
	list_push_back(&q->packs, &p->link);
	(void)pthread_mutex_unlock(&q->lock);
}

haul_status block_queue_return(struct block_queue *q, const struct send_work *work)
{
	struct returned_work *r = work->pack ? NULL : malloc(sizeof(*r));

	if (!r && !work->pack)
		return HAUL_NO_MEMORY;
	(void)pthread_mutex_lock(&q->lock);
	if (work->pack) {
		list_push_back(&q->packs, &work->pack->link);
	} else {
		r->work = *work;
		list_push_back(&q->returned, &r->link);
	}
	(void)pthread_mutex_unlock(&q->lock);
	return HAUL_OK;
}

static bool take_pack(struct block_queue *q, struct send_work *ret_work)
{
	struct list *item = list_pop_front(&q->packs);

	if (!item)
		return false;
	*ret_work = (struct send_work){ .pack = list_item(item, struct send_pack, link) };
	return true;
}

haul_status send_file_set_ranges(struct send_file *f, const struct leaf_range *ranges, size_t count)
{
	uint64_t leaves = 0;

	assert(count > 0 && !f->others);
	if (count > 1) {
		f->others = calloc(count - 1, sizeof(*f->others));
		if (!f->others)
			return HAUL_NO_MEMORY;
		memcpy(f->others, ranges + 1, (count - 1) * sizeof(*ranges));
	}
	f->other_count = count - 1;
	f->next_leaf = ranges[0].first;
	f->end_leaf = ranges[0].first + ranges[0].count;
	for (size_t i = 0; i < count; i++)
		leaves += ranges[i].count;
	atomic_store(&f->unread_leaves, leaves);
	return HAUL_OK;
}

/* The range in turn has been handed out; false: it was the last one. */
static bool next_range(struct send_file *f)
{
	const struct leaf_range *range;

	if (f->other_at == f->other_count)
		return false;
	range = &f->others[f->other_at++];
	f->next_leaf = range->first;
	f->end_leaf = range->first + range->count;
	return true;
}

static bool take_returned(struct block_queue *q, struct send_work *ret_work)
{
	while (pop_returned(q, ret_work)) {
		if (!atomic_load(&ret_work->file->has_failed))
			return true;
		send_file_drop(ret_work->file);
	}
	return false;
}

/* The next block of the oldest file. The queue's own reference becomes the last block's. */
static bool take_block(struct block_queue *q, struct send_work *ret_work)
{
	if (take_returned(q, ret_work))
		return true;
	while (!list_is_empty(&q->files)) {
		struct send_file *f = list_item(q->files.next, struct send_file, link);
		uint64_t in_block = f->next_leaf % q->block_leaves;
		uint64_t count = q->block_leaves - in_block;

		if (atomic_load(&f->has_failed)) {
			list_remove(&f->link);
			send_file_drop(f);
			continue;
		}
		if (count > f->end_leaf - f->next_leaf)
			count = f->end_leaf - f->next_leaf;
		f->is_begun = true;
		q->place_now = f->place;
		*ret_work = (struct send_work){ .file = f, .first_leaf = f->next_leaf, .leaf_count = (uint32_t)count };
		f->next_leaf += count;
		if (f->next_leaf < f->end_leaf || next_range(f))
			atomic_fetch_add(&f->refs, 1);
		else
			list_remove(&f->link);
		return true;
	}
	return false;
}

/* Whose turn it is after this unit of work. */
static void turn(struct block_queue *q, const struct send_work *work)
{
	uint64_t bytes = work->pack ? work->pack->bytes : (uint64_t)work->leaf_count * HAUL_LEAF_BYTES;
	bool is_other = (work->pack != NULL) != q->pack_is_next; /* the list in turn was empty */

	if (is_other)
		q->run_left = q->run_bytes;
	q->run_left -= bytes < q->run_left ? bytes : q->run_left;
	q->pack_is_next = work->pack != NULL;
	if (q->run_left)
		return;
	q->pack_is_next = !q->pack_is_next;
	q->run_left = q->run_bytes;
}

bool block_queue_take(struct block_queue *q, struct send_work *ret_work)
{
	bool is_found;

	(void)pthread_mutex_lock(&q->lock);
	if (q->pack_is_next)
		is_found = take_pack(q, ret_work) || take_block(q, ret_work);
	else
		is_found = take_block(q, ret_work) || take_pack(q, ret_work);
	if (is_found)
		turn(q, ret_work);
	(void)pthread_mutex_unlock(&q->lock);
	return is_found;
}

struct send_file *send_file_new(const struct disk_file *file)
{
	struct send_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	list_init(&f->link);
	atomic_init(&f->refs, 1);
	f->file.fd = file->fd;
	f->file.offset_align = file->offset_align;
	f->file.memory_align = file->memory_align;
	f->file.is_align_known = file->is_align_known;
	f->file.facts = file->facts;
	atomic_init(&f->file.is_direct, atomic_load(&file->is_direct));
	atomic_init(&f->file.reason, atomic_load(&file->reason));
	return f;
}

void send_file_drop(struct send_file *f)
{
	if (atomic_fetch_sub(&f->refs, 1) != 1)
		return;
	if (f->file.fd >= 0)
		(void)disk_file_close(&f->file);
	free(f->others);
	free(f);
}

struct send_pack *send_pack_new(unsigned cap)
{
	struct send_pack *p = calloc(1, sizeof(*p) + cap * sizeof(p->items[0]));

	if (!p)
		return NULL;
	list_init(&p->link);
	p->cap = cap;
	return p;
}

void send_pack_free(struct send_pack *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->count; i++)
		free(p->items[i].path);
	free(p);
}
