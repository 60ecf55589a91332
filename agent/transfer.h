/*
 * A transfer from the command line's point of view: one call that runs it and tells what happens through an observer.
 *
 * transfer_run() runs the local end in this process: it connects to the peer's hauld, opens the lanes, and is the
 * sending or the receiving end; with every place on this machine it runs both ends. A connection that is lost while the
 * job runs is made again, and the job goes on, until nothing new has come for timeout_ms. It handles SIGINT, SIGTERM
 * and SIGHUP while it runs. Observer calls come on the calling thread.
 */
#ifndef HAUL_AGENT_TRANSFER_H
#define HAUL_AGENT_TRANSFER_H

#include "agent/choice_spec.h"
#include "agent/home.h"
#include "agent/place_spec.h"
#include "engine/base/device_kind.h"
#include "engine/base/entry.h"

enum transfer_verb { TRANSFER_COPY, TRANSFER_VERIFY };
enum transfer_direct { TRANSFER_DIRECT_AUTO, TRANSFER_DIRECT_ALWAYS, TRANSFER_DIRECT_NEVER };

/* What every file has to be checked against. ANY: what is cheap; files that share extents with their source are not
 * read. TRANSFER: each is read and hashed on its way. */
enum transfer_proof { TRANSFER_PROOF_ANY, TRANSFER_PROOF_TRANSFER };

/* How much of what only the destination has a sync may delete. */
enum transfer_deletion {
	TRANSFER_DELETE_NONE, /* no sync */
	TRANSFER_DELETE_USUAL,
	TRANSFER_DELETE_COUNT,
	TRANSFER_DELETE_PERCENT,
	TRANSFER_DELETE_ANY,
};

struct transfer_request {
	enum transfer_verb verb;
	enum transfer_deletion deletion;  /* a copy of one directory that is a sync, by this rule */
	uint64_t delete_most;             /* of COUNT and PERCENT */
	bool new_source;                  /* --new-source: it may lie on another file system than last time */
	bool nest;                        /* --nest: a sync into what looks like its source's counterpart */
	const struct place_spec *sources; /* at least 1 */
	size_t source_count;
	const struct place_spec *destination;
	const char *as_name; /* --as, or NULL */
	bool dry_run;        /* -n */
	bool checksum;       /* -c */
	bool follow_links;   /* -L */
	bool exact;          /* verify --exact */
	bool no_sync;
	bool no_attributes; /* --no-xattrs */
	bool no_owners;     /* --no-owner */
	bool numeric_ids;   /* --numeric-ids */
	bool sparse;        /* -S */
	bool in_place;      /* --inplace */
	bool restart;       /* --restart: what an earlier run has left of a file is dropped */
	/* What is proven and durable at the destination goes at the source, after the job's good end. The caller asks
	 * for checksum and TRANSFER_PROOF_TRANSFER with it. */
	bool is_move;
	bool no_replace;           /* an existing file with other content stays, the source's is named */
	bool is_several;           /* more sources were named than are given here */
	enum transfer_proof proof; /* --verify */
	unsigned lanes;            /* 0: chosen */
	uint32_t block_bytes;      /* 0: chosen */
	enum transfer_direct direct;
	enum device_kind source_device, destination_device; /* as the user says; DEVICE_UNKNOWN: found out */
	uint64_t bandwidth_bytes_per_s;                     /* 0: unlimited */
	uint32_t connect_timeout_ms;
	uint32_t timeout_ms;
	double modify_window_s;
	const struct choice_spec *choice;       /* held; NULL: everything is taken */
	bool size_only, ignore_times;           /* the quick check: by size alone; not at all */
	bool update, existing, ignore_existing; /* files newer there stay; nothing new is made; what is there stays */
	bool want_entries;                      /* call on_entry for every changed entry (-v, -n, --json) */
	bool want_explain;                      /* call on_explain */
	const char *backend;                    /* NULL, "ring", "threads" */
	const char *trace;                      /* --trace FILE, or NULL */
};

/* How a source lands; told before anything is written. */
struct transfer_landing {
	const char *source;      /* as typed */
	const char *destination; /* "nas:inbox/day1/Footage", as the user would type it */
	bool is_new;
	bool is_hidden;           /* the peer does not let us see whether it is new; is_new is false then */
	bool is_contents;         /* the contents of the source land there */
	bool is_link;             /* the source is a link and lands as a link */
	const char *made_parents; /* "nas:inbox/day1" when parents are made, else NULL */
};

/* A warning or an error: `text` is one line without the remedy, names escaped; remedy may be NULL. */
struct transfer_problem {
	enum haul_code code;
	int exit_code;    /* the class it belongs to: 1 .. 11 */
	const char *side; /* "source", "destination", "local" or the peer's name */
	const char *path; /* raw bytes, NUL-terminated, or NULL */
	const char *text;
	const char *remedy;
};

struct transfer_entry {
	const char *path; /* landing path below the job's root, raw */
	enum entry_kind kind;
	uint64_t size;
	enum entry_outcome outcome;
	bool is_cloned;   /* it shares its source's extents on disk: OUTCOME_UNCHANGED, nobody has read it */
	uint32_t changes; /* enum change_bits of peer-protocol/message.h, repeated as TRANSFER_* below */
	bool has_offset;
	uint64_t offset;
};

enum transfer_changes {
	TRANSFER_CREATED = 1 << 0,
	TRANSFER_CONTENT = 1 << 1,
	TRANSFER_SIZE = 1 << 2,
	TRANSFER_TIME = 1 << 3,
	TRANSFER_MODE = 1 << 4,
	TRANSFER_KIND = 1 << 5,
	TRANSFER_SURPLUS = 1 << 6,
	TRANSFER_MISSING = 1 << 7,
	TRANSFER_DELETED = 1 << 8, /* with SURPLUS: by a sync; directories end with a slash */
	TRANSFER_ATTRIBUTES = 1 << 9,
	TRANSFER_ACL = 1 << 10,
	TRANSFER_OWNER = 1 << 11,
	TRANSFER_GROUP = 1 << 12,
};

struct transfer_progress {
	uint64_t files_done, files_total;
	uint64_t bytes_done, bytes_total; /* of what has to be looked at; done never exceeds total */
	uint64_t bytes_sent;
	bool totals_final; /* the scan has ended */
	double elapsed_s;
	double rate_bytes_per_s; /* over the last seconds */
};

enum transfer_limit {
	LIMIT_NONE,
	LIMIT_SOURCE_DISK,
	LIMIT_SOURCE_CPU,
	LIMIT_NETWORK,
	LIMIT_DESTINATION_CPU,
	LIMIT_DESTINATION_DISK,
	LIMIT_FILES,
	LIMIT_RATE,
};

enum { TRANSFER_REASONS_MAX = 12 };

struct transfer_report {
	int exit_code;
	int reasons[TRANSFER_REASONS_MAX]; /* every class that occurred, in CLI.md's order of precedence */
	size_t reason_count;
	uint64_t files_total, files_sent, files_skipped, files_deleted, files_kept, files_failed; /* regular files */
	uint64_t files_stayed; /* by --update, --existing, --ignore-existing; of files_skipped and files_unread */
	uint64_t files_cloned; /* new, sharing their source's extents; of files_unread, neither sent nor skipped */
	uint64_t entries_total, bytes_total, bytes_sent, bytes_reused;
	uint64_t files_sent_again; /* of files sent: changed while they were read, and were sent anew */
	uint64_t bytes_basis;      /* of bytes_reused: of files sent, taken from the version that was there */
	uint64_t bytes_resumed;    /* of files sent: at the destination since an earlier run, not sent again */
	uint64_t entries_deleted, entries_renamed; /* of every kind; a tree renamed whole is one */
	uint64_t files_verified_transfer, files_verified_disk, files_unread;
	uint64_t files_equal, files_different, files_missing, files_surplus, meta_different; /* verify */
	uint64_t
	    lost[LOST_KINDS]; /* entries of whose metadata something was lost, by class: bit n of enum entry_lost */
	uint64_t specials[3]; /* fifos, sockets, devices left out */
	double elapsed_s;
	unsigned lanes;
	bool is_durable;
	bool has_root;
	struct haul_digest job_root;
	enum transfer_limit limited_by;
	uint64_t entries_left; /* by filters, limits, lists; what lies in a directory left is not counted */
	bool knows_matched;    /* the next is known: */
	uint8_t rules_matched[CHOICE_RULES_MAX / 8]; /* bit n: rule n of the choice matched something */
	double cpu_s;                                /* of this process */
	double peer_cpu_s; /* of the peer's while the job ran, other jobs of it included; 0 if it did not say */
	bool is_dry_run;
	int signal_number; /* the signal that ended it, else 0 */
};

struct transfer_observer {
	void *ctx;
	void (*on_landing)(void *ctx, const struct transfer_landing *landings, size_t count);
	void (*on_note)(void *ctx, const char *text);                      /* worth a line on stderr */
	void (*on_explain)(void *ctx, const char *text);                   /* a choice and its reason */
	void (*on_progress)(void *ctx, const struct transfer_progress *p); /* about 4 times a second */
	void (*on_entry)(void *ctx, const struct transfer_entry *e);
	/* The job goes on over a new connection, the `count`th; seconds since the old one was lost. NULL is fine. */
	void (*on_reconnected)(void *ctx, unsigned count, double after_s);
	void (*on_warning)(void *ctx, const struct transfer_problem *p);
	void (*on_error)(void *ctx, const struct transfer_problem *p);
};

/* Whether so many lanes of so long blocks fit into the memory that a transfer takes. */
bool transfer_fits(unsigned lanes, uint32_t block_bytes);

/* Run it to its end. ret_report is filled in any case; its exit_code is the process's. */
void transfer_run(const struct home *h, const struct transfer_request *req, const struct transfer_observer *obs,
		  struct transfer_report *ret_report);

#endif
