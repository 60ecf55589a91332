/* Intrusive doubly linked list with a head: the links are fields of the object, so queueing never allocates. */
#ifndef HAUL_BASE_LIST_H
#define HAUL_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev; /* a head or an unlinked item points at itself */
};

#define list_item(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
#define list_each(pos, head) for (struct list *pos = (head)->next; pos != (head); pos = pos->next)

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_push_back(struct list *head, struct list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/* The first item, unlinked; NULL when the list is empty. */
static inline struct list *list_pop_front(struct list *head)
{
	struct list *item = head->next;

	if (item == head)
		return NULL;
	list_remove(item);
	return item;
}

/* Move everything from `from` to the end of `to`; `from` is empty afterwards. */
static inline void list_splice_back(struct list *to, struct list *from)
{
	if (list_is_empty(from))
		return;
	from->next->prev = to->prev;
	from->prev->next = to;
	to->prev->next = from->next;
	to->prev = from->prev;
	list_init(from);
}

#endif
