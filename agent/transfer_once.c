/*
 * The same copy twice: one key for what is copied and where to. While one process of this home has it, another is
 * refused; and it is the job's id, so that the peer can tell a job that comes again, from the next process too, from
 * another one, and lets go of what is left of the first.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "engine/base/bytes.h"
#include "engine/leaf_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Length first, so that two texts are never taken for two others. */
static void add(struct leaf_stream *s, const void *data, size_t len)
{
	uint64_t number = len;

	leaf_stream_add(s, &number, sizeof(number));
	leaf_stream_add(s, data, len);
}

static void add_text(struct leaf_stream *s, const char *text)
{
	add(s, text ? text : "", text ? strlen(text) : 0);
}

/* Without slashes that say nothing. Given; NULL without memory. */
static char *plain(const char *path)
{
	char *copy = strdup(*path ? path : ".");
	size_t len = 0;

	for (const char *at = copy; copy && *at; at++) {
		if (*at != '/' || !len || copy[len - 1] != '/')
			copy[len++] = *at;
	}
	while (len > 1 && copy[len - 1] == '/')
		len--;
	if (copy)
		copy[len] = '\0';
	return copy;
}

/*
 * The path without links in it, as far as it is there: the same before and after what is missing of it was made. A link
 * itself is not followed. NULL without memory.
 */
static char *canonical(const char *path, bool is_link)
{
	char *all = plain(path), *above = all ? strdup(all) : NULL, *whole = NULL, *real = NULL, *slash;
	const char *rest = "";

	while (above && (is_link || !(real = realpath(above, NULL)))) {
		is_link = false;
		slash = strrchr(above, '/');
		if (!slash || slash == above) {
			rest = slash ? all + 1 : all;
			real = slash ? strdup("/") : realpath(".", NULL);
			break;
		}
		*slash = '\0';
		rest = all + (slash - above) + 1;
	}
	if (real && asprintf(&whole, "%s%s%s", strcmp(real, "/") ? real : "", *rest ? "/" : "", rest) < 0)
		whole = NULL;
	free(real);
	free(above);
	free(all);
	return whole;
}

static void add_local(struct leaf_stream *s, const char *path, bool is_link)
{
	char *whole = canonical(path, is_link);

	add_text(s, whole ? whole : path);
	free(whole);
}

static void copy_key(const struct transfer *t, struct haul_digest *ret_key)
{
	struct leaf_stream s;

	leaf_stream_begin(&s);
	add_text(&s, t->is_push ? "push" : "pull");
	add(&s, t->device_id, sizeof(t->device_id));
	add_text(&s, t->is_local ? "" : t->remote->share);
	if (t->is_push && !t->is_local)
		add_text(&s, t->landing.root);
	else
		add_local(&s, t->landing.root, false);
	for (size_t i = 0; i < t->source_count; i++) {
		const struct landed *at = &t->landing.landed[i];

		if (t->is_push)
			add_local(&s, t->sources[i].path, t->sources[i].kind == ENTRY_LINK && !at->follow);
		else
			add_text(&s, t->sources[i].path);
		add_text(&s, at->name);
	}
	leaf_stream_end(&s, ret_key);
}

static bool random_id(struct transfer *t)
{
	if (getrandom(t->job_id, sizeof(t->job_id), 0) == (ssize_t)sizeof(t->job_id))
		return true;
	transfer_fault(t, HAUL_CRYPTO, NULL, NULL);
	return false;
}

bool transfer_once(struct transfer *t)
{
	struct haul_fault fault = { 0 };
	uint64_t number;
	haul_status st;

	if (t->req->verb != TRANSFER_COPY)
		return random_id(t);
	copy_key(t, &t->copy_key);
	if (t->req->dry_run || (t->is_local && !transfer_is_sync(t)))
		return random_id(t);
	memcpy(&number, t->copy_key.bytes, sizeof(number));
	st = copy_lock_open(&t->lock, t->home->state_dir, number, &fault);
	if (st.code == HAUL_CODE_ALREADY_RUNNING) {
		transfer_error(t, EXIT_CLASS_RUNNING, st, fault.text, "Wait for it, or end it");
		return false;
	}
	if (haul_failed(st)) {
		/* It is only a guard: without it a job's id must not be another's. */
		transfer_explain(t, "not guarded against the same copy twice: %s", fault.text);
		return random_id(t);
	}
	_Static_assert(sizeof(t->job_id) == sizeof(t->copy_key.bytes), "a job's id is a digest");
	memcpy(t->job_id, t->copy_key.bytes, sizeof(t->job_id));
	return true;
}
