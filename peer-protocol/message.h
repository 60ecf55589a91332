/*
 * What two agents say to each other on a control connection, as C values.
 *
 * A message on the wire is a frame: u32 length (big-endian, 1 .. MESSAGE_BYTES_MAX), then one msgpack array whose first
 * element is the type. docs/PROTOCOL.md is the reference and has golden bytes for each type.
 *
 * In a decoded message every pointer (names, arrays) points into memory of the decoder and is borrowed until the next
 * message is decoded. In a message to be encoded everything is borrowed for the call.
 */
#ifndef HAUL_PROTOCOL_MESSAGE_H
#define HAUL_PROTOCOL_MESSAGE_H

#include "engine/base/attributes.h"
#include "engine/base/device_kind.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "peer-protocol/message_base.h"
#include "peer-protocol/message_entries.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum message_type {
	MSG_HELLO = 1,         /* both; the server's first on every connection */
	MSG_LOOKUP = 2,        /* client: what are these paths? */
	MSG_FOUND = 3,         /* server: the answer */
	MSG_LIST = 4,          /* client: shares, or one page of a directory */
	MSG_LISTING = 5,       /* server: the answer */
	MSG_JOB = 6,           /* client: begin a transfer */
	MSG_ACCEPT = 7,        /* server: go on, with so many lanes */
	MSG_BUSY = 8,          /* server: no memory free; place in the queue */
	MSG_ERROR = 9,         /* both: this connection or job ends here, and why */
	MSG_LANE_HELLO = 10,   /* client, first on a lane connection */
	MSG_LANE_OK = 11,      /* server: the lane has joined */
	MSG_CREDIT = 12,       /* receiver: so many more manifest records and bytes */
	MSG_OWNERS = 13,       /* sender: names of owners and groups by index */
	MSG_MANIFEST = 14,     /* sender: entries and ends of directories, in canonical order */
	MSG_MANIFEST_END = 15, /* sender: nothing more comes */
	MSG_WANT = 16,         /* receiver: what it needs of each entry */
	MSG_BASIS = 17,        /* receiver: leaf digests of its old version */
	MSG_HAVE = 18,         /* receiver: leaf digests of its partial */
	MSG_ACK = 19,          /* receiver: leaves received, written, durable */
	MSG_FAILED = 20,       /* sender: an entry cannot be sent (any more) */
	MSG_RESULT = 21,       /* receiver: how an entry ended there */
	MSG_JOB_END = 22,      /* both: my counts and job root */
	MSG_DONE = 23,         /* both: roots agree; close_notify follows */
	MSG_CANCEL = 24,       /* client: stop; what is committed stays */
	MSG_NOTE = 25,         /* server: a choice or a fallback of its end, for people */
	MSG_ALIVE = 26,        /* both, in a job: nothing else to say just now, or which lanes are at work */
	MSG_LOOK = 27,         /* sender of a move: are these still there, just as they landed? */
	MSG_LOOKED = 28,       /* receiver: the answer */
	MSG_MOVED = 29,        /* sender of a move: what has gone at the source so far, and what stays */
	MSG_CHOICE = 30,       /* client: which entries the next JOB takes; several add up */
	MSG_LEFT = 31,         /* sender: what the choice left out, before its JOB_END */
	MSG_LANE_LOST = 32,    /* both, in a job: a lane's connections are gone on my side */
	MSG_PUT_OFF = 33,      /* sender: files that changed while they were read; not now */
	MSG_CHANGED = 34,      /* sender: what they have become; begin anew */
	MSG_TYPE_LAST = MSG_CHANGED,
};

struct capability {
	struct text name;
	bool is_critical; /* the peer must refuse if it does not know it */
};

struct msg_hello {
	uint32_t version_min, version_max;
	uint32_t tree_version;
	uint64_t digest_algorithms; /* bit n set: algorithm n */
	uint32_t digest_bytes;
	uint32_t block_min, block_max; /* bytes; powers of two from 1 to 16 MiB */
	uint32_t cores;                /* of the machine that speaks */
	uint32_t lanes_max;
	struct text software;  /* "haul 0.1.0" */
	struct text your_name; /* server: the local name of the client's device; client: empty */
	const struct capability *capabilities;
	size_t capability_count;
};

struct msg_lookup {
	struct text share;
	const struct text *paths; /* relative to the share, "" = its top */
	size_t path_count;        /* 1 .. MESSAGE_SOURCES_MAX */
};

enum found_state {
	FOUND_MISSING = 0,
	FOUND_THERE = 1,
	FOUND_DENIED = 2,
	FOUND_LINK_IN_PATH = 3,
	FOUND_NOT_DIRECTORY = 4
};

struct found {
	enum found_state state;
	enum entry_kind kind;        /* with FOUND_THERE, of the thing itself; links are not followed */
	enum entry_kind target_kind; /* of a link: what it leads to inside the share; 0 if nothing */
	uint64_t size;
	struct entry_time mtime;
};

struct msg_found {
	uint64_t rights;     /* of the asking device on that share; bits as in certs/rights.h */
	uint64_t free_bytes; /* of the share's file system */
	const struct found *found;
	size_t found_count; /* as many as asked for, in that order */
};

struct msg_list {
	struct text share; /* empty: list the shares */
	struct text path;
	struct text after;   /* empty: from the start; else names greater than this */
	bool wants_partials; /* instead of entries: what interrupted jobs have left of files below the path */
};

struct listing_share {
	struct text name;
	uint64_t rights;
	uint64_t free_bytes, total_bytes;
};

struct listing_entry {
	struct text name;
	enum entry_kind kind;
	uint32_t mode;
	uint64_t size;
	struct entry_time mtime;
};

/* What is there of a file that has not arrived. */
struct listing_partial {
	struct text id;   /* MESSAGE_PARTIAL_ID_BYTES */
	struct text path; /* below the share; any bytes; empty: not known */
	uint64_t size, there_bytes;
	int64_t touched_s; /* when something last came, seconds since 1970 */
	bool is_yours;     /* it came from the device that asks */
};

struct msg_listing {
	const struct listing_share *shares;
	size_t share_count;
	const struct listing_entry *entries; /* by byte order of names */
	size_t entry_count;
	bool has_more;
	const struct listing_partial *partials; /* by byte order of ids */
	size_t partial_count;
};

enum job_verb {
	JOB_COPY = 1,
	JOB_VERIFY = 2,
	JOB_PROBE = 3, /* measure: one entry of probe_bytes, made up or read, written or dropped, and never kept */
};
enum job_direction { JOB_PUSH = 1 /* client sends */, JOB_PULL = 2 /* server sends */ };

enum job_flags {
	JOB_DRY_RUN = 1 << 0,  /* compare and report, change nothing */
	JOB_CHECKSUM = 1 << 1, /* compare by hash tree even where size and time agree */
	JOB_NO_SYNC = 1 << 2,
	JOB_FOLLOW_LINKS = 1 << 3,
	JOB_EXACT = 1 << 4,   /* verify: metadata and surplus entries count as differences */
	JOB_NOTES = 1 << 5,   /* the server tells its choices in NOTEs */
	JOB_TO_DISK = 1 << 6, /* probe: push: written into the share's private directory; pull: read from the source */
	JOB_RESTART = 1 << 7, /* what an earlier job has left of its files is not gone on with */
	JOB_MOVE = 1 << 8,    /* what has been proven and is durable goes at the source, after both JOB_ENDs */
	JOB_NO_REPLACE = 1 << 9,     /* push: files there with other content stay, as without the right to overwrite */
	JOB_NO_ATTRIBUTES = 1 << 10, /* extended attributes and ACLs are neither announced nor touched */
	JOB_NO_OWNERS = 1 << 11,     /* the same of owner and group */
	JOB_NUMERIC_IDS = 1 << 12,   /* owners go by their numbers, not by name */
	JOB_INPLACE = 1 << 18,       /* another version of a big file is written into the one that is there */
	JOB_SPARSE = 1 << 20,        /* runs of zeros become holes, in files that have none as well */
	JOB_ROOT_TOO = 1 << 21, /* the first entry is the job's root itself: its facts, and a name without a byte */
};

/* Whether what only the destination has is deleted, and how much of it is too much. */
enum delete_rule {
	DELETE_NONE = 0,    /* nothing is deleted: the job is no sync */
	DELETE_USUAL = 1,   /* more than 10, and more than 1,000 or 10 % of what is there */
	DELETE_COUNT = 2,   /* more than delete_most */
	DELETE_PERCENT = 3, /* more than delete_most percent of what is there */
	DELETE_ANY = 4,     /* never */
};

/* What of JOB the user fixed: the server cuts it to its limits, not to what it would have chosen. */
enum job_fixed { JOB_FIXED_LANES = 1 << 0, JOB_FIXED_BLOCK = 1 << 1 };

/* One source of a pull: where it is in the share and where it lands below the job's root. */
struct job_source {
	struct text path;    /* in the share */
	struct text landing; /* name below the destination root; empty: its contents land there directly */
	bool follow;         /* a link given with a slash: its target */
};

struct msg_job {
	uint8_t job_id[16]; /* the same for a job that comes again; zeros: none */
	enum job_verb verb;
	enum job_direction direction;
	uint32_t flags;
	struct text share;
	struct text root; /* push: destination directory in the share, made with its parents if missing; pull: "" */
	const struct job_source *sources; /* pull only */
	size_t source_count;
	uint32_t lanes;       /* wished for, 1 .. LANES_MAX */
	uint32_t block_bytes; /* wished for */
	uint64_t modify_window_ns;
	enum device_kind device;        /* the client's end lies on */
	enum device_kind server_device; /* what the user says of the server's end; DEVICE_UNKNOWN: nothing */
	uint8_t disk_id[DISK_ID_BYTES]; /* the client's; equal ids: the same disks of one machine; zeros: not known */
	uint32_t fixed;                 /* enum job_fixed */
	uint32_t more_lanes;            /* that may join while the job runs; with `lanes` at most LANES_MAX */
	uint64_t probe_bytes;           /* probe: MESSAGE_PROBE_MIN .. MESSAGE_PROBE_MAX; else 0 */
	enum delete_rule delete_rule;   /* copy only */
	uint64_t delete_most;           /* of DELETE_COUNT and DELETE_PERCENT */
	bool deletes_at_root;           /* the root is a source's counterpart, not only what lands in it */
};

enum choice_action { CHOICE_EXCLUDE = 1, CHOICE_INCLUDE = 2, CHOICE_ONLY = 3 };

/* Rules of one group: the last that matches decides. Groups in order: the first that decides wins. */
struct choice_rule {
	uint32_t group; /* never below that of the rule before it */
	enum choice_action action;
	struct text pattern; /* gitignore's syntax, without `!` */
};

enum choice_flags {
	CHOICE_LISTS = 1 << 0,        /* nothing but what the paths name, and all in it */
	CHOICE_LIMITS = 1 << 1,       /* sizes and times count */
	CHOICE_CONTENTS = 1 << 2,     /* push: some source lands as its contents … */
	CHOICE_NAMED = 1 << 3,        /* … and some by its name: where patterns are anchored at the receiver */
	CHOICE_SIZE_ONLY = 1 << 4,    /* files of the same size are unchanged */
	CHOICE_IGNORE_TIMES = 1 << 5, /* no file is unchanged by size and time */
	CHOICE_UPDATE = 1 << 6,       /* files stay that are newer there */
	CHOICE_EXISTING = 1 << 7,     /* nothing is made that is not there */
	CHOICE_ABSENT = 1 << 8,       /* what is there stays, but directories */
	CHOICE_FLAGS_ALL = (1 << 9) - 1,
};

/* Of several the rules and the paths add up; of the rest the last counts. */
struct msg_choice {
	const struct choice_rule *rules;
	size_t rule_count;
	const struct text *paths; /* landing paths below the job's root */
	size_t path_count;
	uint32_t flags; /* enum choice_flags */
	uint64_t size_min, size_max;
	struct entry_time oldest, newest;
};

struct msg_left {
	uint64_t entries, files; /* files: regular ones; what lies in a directory that was left is not counted */
	struct text matched;     /* bit n, from the lowest of the first byte: rule n matched something */
};

struct msg_accept {
	uint8_t session_id[SESSION_ID_BYTES];
	uint32_t lanes;
	uint32_t block_bytes;
	bool root_exists;
	enum device_kind device; /* the server's end lies on, or as the user said */
	uint8_t disk_id[DISK_ID_BYTES];
	uint32_t more_lanes;   /* as in JOB; with `lanes` not more than were wished for */
	uint8_t source_fs[16]; /* pull: id of the file system of the first source; zeros: not known */
};

struct msg_note {
	struct text text; /* one line; untrusted: escape before printing */
};

struct msg_busy {
	uint32_t place; /* 1 = next */
};

/* Why a connection or a job ends. Only `code` and `text` are always there; the rest serves the cure in the message. */
struct msg_error {
	uint32_t code;    /* enum haul_code */
	struct text text; /* untrusted: escape before printing */
	struct text path; /* in the share, or empty */
	struct text share;
	struct text your_name;  /* the client's name in the server's list of peers */
	uint64_t missing_right; /* one bit, 0 if none */
	uint64_t held_rights;
	uint64_t need_bytes, free_bytes;
	const struct text *offered; /* shares of this device's list */
	size_t offered_count;
};

struct msg_lane_hello {
	uint8_t session_id[SESSION_ID_BYTES];
	uint32_t lane;  /* 0 .. lanes-1 */
	uint32_t epoch; /* 0 for the first connection of that lane, one more for each successor */
};

struct msg_lane_ok {
	uint32_t lane;
	uint32_t epoch;
};

struct msg_credit {
	uint64_t records; /* to add */
	uint64_t bytes;   /* of MANIFEST frames, to add */
};

/* Why a sync has deleted nothing. */
enum delete_refusal {
	DELETE_ALLOWED = 0,
	DELETE_TOO_MANY = 1,      /* by the rule of JOB */
	DELETE_TOO_MANY_HERE = 2, /* by the receiver's own */
	DELETE_EMPTY_SOURCE = 3,
	DELETE_OTHER_SOURCE = 4, /* another file system than last time */
	DELETE_BLIND = 5,        /* a directory of the source could not be read whole */
	DELETE_TROUBLED = 6,     /* something could not be written at the destination */
};

/* Where the time of one side's lanes went, milliseconds, all lanes together; as the side itself says. */
struct job_times {
	uint64_t wall_ms; /* from each lane's first work to its last */
	uint64_t compute_ms, digest_ms;
	uint64_t cpu_ms, ready_ms; /* ran; could have run and had no core */
	uint64_t wait_work_ms, wait_disk_ms, wait_files_ms, wait_peer_ms, wait_rate_ms;
	uint64_t disk_busy_ms, disk_no_input_ms, disk_no_room_ms;
	uint64_t files_busy_ms;
	uint64_t sync_ms;        /* of the commit thread */
	uint64_t process_cpu_ms; /* of the whole process while the job ran */
};

/* Of the first file system, or else the quota, that proved too small for a job. All 0: none did. */
struct job_lack {
	uint64_t need_bytes;  /* had to be written */
	uint64_t free_bytes;  /* was free, or left of the quota */
	uint64_t quota_bytes; /* the whole quota; 0: a file system */
};

struct msg_job_end {
	uint64_t entries, files, bytes;
	uint64_t proven, unchanged, failed;
	struct haul_digest root;
	bool is_durable;
	struct job_times times;
	struct job_lack lack; /* receiver's */
	/* Receiver of a sync; else 0. */
	enum delete_refusal delete_refusal;
	uint64_t surplus, there; /* entries that only the destination has; all that were there */
	uint64_t deleted, deleted_files;
};

/*
 * Before anything goes at the source: the sender has moved these entries out of the way there, and the receiver looks
 * whether what has landed is there all the same.
 */
struct msg_look {
	uint8_t token[LOOK_TOKEN_BYTES]; /* random; of the private names that the sender has made for it */
	const uint64_t *entries;
	size_t entry_count;
};

/* Of each entry of the LOOK, in its order: 0, or the enum haul_code that keeps it at the source. */
struct msg_looked {
	const uint32_t *codes;
	size_t code_count;
};

struct moved_kept {
	uint64_t entry;
	uint32_t code;    /* enum haul_code */
	struct text text; /* why; untrusted: escape before printing */
};

struct msg_moved {
	const struct moved_kept *kept; /* told for the first time */
	size_t kept_count;
	uint64_t files, entries, bytes; /* deleted at the source by this job so far; bytes of the files */
	uint64_t leaves;                /* read once more before a deletion: that it goes on */
};

struct msg_cancel {
	uint32_t code; /* enum haul_code */
};

struct msg_alive {
	uint32_t lanes; /* receiver: bit n: lane n brings bytes, or has something in work here; 0: nothing to say */
};

struct msg_lane_lost {
	uint32_t lane;
	uint32_t epoch; /* the last one of this lane that this side knows of */
};

struct message {
	enum message_type type;
	union {
		struct msg_hello hello;
		struct msg_lookup lookup;
		struct msg_found found;
		struct msg_list list;
		struct msg_listing listing;
		struct msg_job job;
		struct msg_accept accept;
		struct msg_busy busy;
		struct msg_error error;
		struct msg_lane_hello lane_hello;
		struct msg_lane_ok lane_ok;
		struct msg_credit credit;
		struct msg_owners owners;
		struct msg_manifest manifest;
		struct msg_manifest_end manifest_end;
		struct msg_want want;
		struct msg_digests digests; /* BASIS, HAVE */
		struct msg_ack ack;
		struct msg_failed failed;
		struct msg_put_off put_off;
		struct msg_changed changed;
		struct msg_result result;
		struct msg_job_end job_end;
		struct msg_cancel cancel;
		struct msg_note note;
		struct msg_choice choice;
		struct msg_left left;
		struct msg_look look;
		struct msg_looked looked;
		struct msg_moved moved;
		struct msg_alive alive;
		struct msg_lane_lost lane_lost;
	};
};

/* "HELLO", "MANIFEST" …; "unknown" outside the list. Static storage. */
const char *message_name(enum message_type type);

#endif
