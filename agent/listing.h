/* What a peer offers: its shares with the rights this device has, or the entries of a directory in a share. */
#ifndef HAUL_AGENT_LISTING_H
#define HAUL_AGENT_LISTING_H

#include "agent/transfer.h"

struct remote_share {
	const char *name;
	uint64_t rights;
	uint64_t free_bytes, total_bytes;
};

struct remote_entry {
	const char *name; /* raw */
	size_t name_len;
	enum entry_kind kind;
	uint32_t mode;
	uint64_t size;
	struct entry_time mtime;
};

/* A file that has not arrived. */
struct remote_partial {
	const char *id;   /* of its private name */
	const char *path; /* below the share or the directory, raw; "": not known */
	size_t path_len;
	uint64_t size, there_bytes;
	int64_t touched_s; /* when something last came, seconds since 1970 */
	bool is_remote;
	bool is_yours;    /* is_remote: this device's own */
	const char *from; /* else: the peer's name here; NULL: not known */
};

struct listing_observer {
	void *ctx;
	void (*on_peer)(void *ctx, const char *name, const char *software, const char *address, const char *known_as);
	void (*on_share)(void *ctx, const struct remote_share *s);
	void (*on_entry)(void *ctx, const struct remote_entry *e);     /* by byte order of names */
	void (*on_partial)(void *ctx, const struct remote_partial *p); /* by byte order of ids */
	void (*on_error)(void *ctx, const struct transfer_problem *p);
};

/* The partials below `place` (remote, with a share). Returns the exit code. */
int listing_run_partials(const struct home *h, const struct place_spec *place, uint32_t connect_timeout_ms,
			 const struct listing_observer *obs);

/* List what `place` (remote) names. Returns the exit code. A file is listed as itself. */
int listing_run(const struct home *h, const struct place_spec *place, uint32_t connect_timeout_ms,
		const struct listing_observer *obs);

/* As above for a local directory (engine only). */
int listing_run_local(const char *path, const struct listing_observer *obs);

#endif
