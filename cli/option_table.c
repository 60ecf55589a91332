/* In the order in which help shows them; what this version lacks stands last. */
#include "cli/option_table.h"

#include "cli/suggest.h"
#include "cli/verbs.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define COPY (VERB_COPY | VERB_SYNC)
#define SYNC VERB_SYNC
#define MOVE VERB_MOVE
#define BOTH (VERB_COPY | VERB_SYNC | VERB_VERIFY)
#define TUNE (VERB_MOVE | VERB_COPY | VERB_SYNC | VERB_VERIFY | VERB_DIAGNOSE)
#define NET (VERB_MOVE | VERB_COPY | VERB_SYNC | VERB_VERIFY | VERB_LIST | VERB_DIAGNOSE)
#define ANY (~0U)
#define LATER(long_name)                                                                                               \
	{                                                                                                              \
		.name = (long_name)                                                                                    \
	}
#define LATER_VALUE(long_name)                                                                                         \
	{                                                                                                              \
		.name = (long_name), .value = VALUE_TEXT                                                               \
	}
#define LATER_FLAG_ONLY(long_name)                                                                                     \
	{                                                                                                              \
		.name = (long_name), .is_flag_only = true                                                              \
	}
#define NOTHING(ch)                                                                                                    \
	{                                                                                                              \
		.id = OPT_NOTHING, .letter = (ch), .verbs = BOTH | MOVE | ((ch) == 'r' ? VERB_REMOVE : 0)              \
	}

static const struct option_def options[] = {
	{ OPT_DRY_RUN, "dry-run", 'n', .verbs = COPY | MOVE | VERB_REMOVE, .is_flag_only = true,
	  .help = "one line per change that would be made; make none" },
	{ OPT_CHECKSUM, "checksum", 'c', .verbs = COPY, .help = "compare by hash tree, not by size and time" },
	{ OPT_SIZE_ONLY, "size-only", .verbs = COPY, .is_flag_only = true,
	  .help = "files of the same size count as unchanged" },
	{ OPT_IGNORE_TIMES, "ignore-times", .verbs = COPY, .help = "send every file, unchanged or not" },
	{ OPT_UPDATE, "update", 'u', .verbs = COPY, .is_flag_only = true, .help = "files that are newer there stay" },
	{ OPT_EXISTING, "existing", .verbs = COPY, .is_flag_only = true, .help = "make nothing that is not there" },
	{ OPT_IGNORE_EXISTING, "ignore-existing", .verbs = COPY, .is_flag_only = true,
	  .help = "what is there stays, but directories are gone into" },
	{ OPT_MODIFY_WINDOW, "modify-window", .value = VALUE_TEXT, .verbs = BOTH, .hint = "S",
	  .help = "times this many seconds apart count as equal" },
	{ OPT_FOLLOW, "copy-links", 'L', .verbs = BOTH, .help = "follow links instead of copying them" },
	{ OPT_AS, "as", .value = VALUE_TEXT, .verbs = COPY | MOVE, .is_flag_only = true, .hint = "NAME",
	  .help = "let a single SRC land under another name" },
	{ OPT_EXCLUDE, "exclude", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .may_repeat = true,
	  .hint = "PATTERN", .help = "leave out what matches; gitignore's syntax" },
	{ OPT_INCLUDE, "include", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .may_repeat = true,
	  .hint = "PATTERN", .help = "take it, whatever a later option excludes" },
	{ OPT_EXCLUDE_FROM, "exclude-from", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true,
	  .may_repeat = true, .hint = "FILE", .help = "patterns, one a line, as in a .gitignore" },
	{ OPT_INCLUDE_FROM, "include-from", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true,
	  .may_repeat = true, .hint = "FILE", .help = "the same, of what is taken" },
	{ OPT_ONLY, "only", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .may_repeat = true,
	  .hint = "PATTERN", .help = "take nothing but what matches" },
	{ OPT_EXPLAIN_FILTER, "explain-filter", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true,
	  .hint = "PATH", .help = "say what becomes of PATH and why; copy nothing" },
	{ OPT_FILES_FROM, "files-from", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .hint = "FILE",
	  .help = "take what FILE lists, as it lands below DST" },
	{ OPT_NUL, .letter = '0', .verbs = BOTH, .help = "paths of --files-from end with NUL" },
	{ OPT_MIN_SIZE, "min-size", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .hint = "SIZE",
	  .help = "files of at least this size" },
	{ OPT_MAX_SIZE, "max-size", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .hint = "SIZE",
	  .help = "files of at most this size" },
	{ OPT_MIN_AGE, "min-age", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .hint = "AGE",
	  .help = "files changed at least so long ago: 7d, or a date" },
	{ OPT_MAX_AGE, "max-age", .value = VALUE_TEXT, .verbs = BOTH, .is_flag_only = true, .hint = "AGE",
	  .help = "files changed since" },
	{ OPT_EXACT, "exact", .verbs = VERB_VERIFY, .help = "other metadata and what only DST has also make exit 4" },
	{ OPT_NO_SYNC, "no-sync", .verbs = VERB_COPY, .is_flag_only = true,
	  .help = "do not wait until the files are durable" },
	{ OPT_RESTART, "restart", .verbs = COPY | MOVE, .is_flag_only = true,
	  .help = "begin files anew that an earlier run left unfinished" },
	{ OPT_NO_OWNER, "no-owner", .verbs = BOTH, .help = "leave owner and group to whoever receives" },
	{ OPT_NUMERIC_IDS, "numeric-ids", .verbs = BOTH, .help = "owners by their numbers, not by name" },
	{ OPT_SPARSE, "sparse", .letter = 'S', .verbs = COPY | MOVE,
	  .help = "runs of zeros become holes; holes are kept anyway" },
	{ OPT_INPLACE, "inplace", .verbs = COPY, .is_flag_only = true,
	  .help = "write into the file there: cut off, it is a mixture" },
	{ OPT_NO_XATTRS, "no-xattrs", .verbs = BOTH, .help = "leave extended attributes and ACLs as they are" },
	{ OPT_ON_CONFLICT, "on-conflict", .value = VALUE_WORD, .verbs = COPY | MOVE, .is_flag_only = true,
	  .words = "replace|fail|number", .later = "fail|number", .later_verbs = COPY,
	  .help = "an existing file with other content" },
	{ OPT_PROOF, "verify", .value = VALUE_WORD, .verbs = COPY, .words = "transfer|disk", .later = "disk",
	  .help = "what each file is checked against" },
	{ OPT_ON_ERROR, "on-error", .value = VALUE_WORD, .verbs = COPY, .words = "continue|stop", .later = "stop",
	  .help = "what happens after an entry failed" },
	{ OPT_STRICT, "strict", .verbs = COPY, .help = "warnings make exit 3" },
	{ OPT_BWLIMIT, "bwlimit", .value = VALUE_TEXT, .verbs = TUNE, .hint = "RATE",
	  .help = "at most this per second; bare: KiB; 0: no limit" },
	{ OPT_LANES, "lanes", .value = VALUE_TEXT, .verbs = TUNE, .hint = "N",
	  .help = "connections that carry data (1 to 16)" },
	{ OPT_BLOCK, "block", .value = VALUE_TEXT, .verbs = TUNE, .hint = "SIZE",
	  .help = "bytes per block: 1M, 2M, 4M, 8M or 16M" },
	{ OPT_DIRECT, "direct", .value = VALUE_WORD, .verbs = TUNE, .words = "auto|always|never",
	  .help = "disk access past the page cache" },
	{ OPT_DEVICE, "device", .value = VALUE_TEXT, .verbs = BOTH | MOVE, .hint = "[END:]KIND",
	  .help = "what source and destination lie on" },
	{ OPT_CONNECT_TIMEOUT, "connect-timeout", .value = VALUE_TEXT, .verbs = NET, .hint = "S",
	  .help = "give up when nobody answers (10)" },
	{ OPT_TIMEOUT, "timeout", .value = VALUE_TEXT, .verbs = BOTH | MOVE, .hint = "S",
	  .help = "give up when nothing new comes for so long (300)" },
	{ OPT_ITEMIZE, "itemize-changes", 'i', .verbs = COPY, .help = "one line per change on stdout" },
	{ OPT_EXPLAIN, "explain", .verbs = BOTH | MOVE, .help = "say what was chosen and why" },
	{ OPT_MAX_DELETE, "max-delete", .value = VALUE_TEXT, .verbs = SYNC, .is_flag_only = true, .hint = "N|N%|none",
	  .help = "refuse to delete more than this" },
	{ OPT_NEST, "nest", .verbs = SYNC, .is_flag_only = true,
	  .help = "SRC goes into DST although DST looks like SRC itself" },
	{ OPT_NEW_SOURCE, "new-source", .verbs = SYNC, .is_flag_only = true,
	  .help = "SRC may lie on another file system than last time" },
	{ OPT_YES, "yes", .verbs = VERB_REMOVE, .is_flag_only = true,
	  .help = "go on beyond 1,000 entries without asking" },
	{ OPT_TRACE, "trace", .value = VALUE_TEXT, .verbs = TUNE, .hint = "FILE",
	  .help = "write a line of JSON per block and stage" },
	{ OPT_PROGRESS, "progress", .value = VALUE_WORD, .verbs = BOTH | MOVE | VERB_REMOVE,
	  .words = "auto|always|never", .help = "progress on stderr (auto: on a terminal)" },
	{ OPT_FAILED_TO, "failed-to", .value = VALUE_TEXT, .verbs = BOTH | MOVE, .hint = "FILE",
	  .help = "paths of failed entries, each ended by NUL" },
	{ OPT_NAME, "name", .value = VALUE_TEXT, .verbs = VERB_PEER, .is_flag_only = true, .hint = "NAME",
	  .help = "what the peer is called here" },
	{ OPT_ADDRESS, "address", .value = VALUE_TEXT, .verbs = VERB_PEER, .is_flag_only = true, .may_repeat = true,
	  .hint = "HOST[:PORT]", .help = "where its agent listens; tried in this order" },
	{ OPT_ALLOW, "allow", .value = VALUE_TEXT, .verbs = VERB_PEER, .is_flag_only = true, .may_repeat = true,
	  .hint = "SHARE=RIGHTS", .help = "what it may do on a share of this machine" },
	{ OPT_QUOTA, "quota", .value = VALUE_TEXT, .verbs = VERB_PEER, .is_flag_only = true, .hint = "SIZE",
	  .help = "by how much it may make the share grow" },
	{ OPT_OWN, "own", .value = VALUE_TEXT, .verbs = VERB_SHARE, .is_flag_only = true, .hint = "USER:GROUP",
	  .help = "owner of what arrives (root's agents)" },
	{ OPT_UMASK, "umask", .value = VALUE_TEXT, .verbs = VERB_SHARE, .is_flag_only = true, .hint = "N",
	  .help = "permission bits taken from what arrives, octal" },
	{ OPT_PARTIALS, "partials", .verbs = VERB_LIST, .is_flag_only = true,
	  .help = "what interrupted transfers left there to go on with" },
	{ OPT_KEEP_PARTIALS, "keep-partials", .value = VALUE_TEXT, .verbs = VERB_SHARE, .is_flag_only = true,
	  .hint = "DAYS", .help = "how long unfinished files stay (14)" },
	{ OPT_HOME, "home", .value = VALUE_TEXT, .verbs = ANY, .hint = "DIR",
	  .help = "where identity, peers and shares lie" },
	{ OPT_SYSTEM, "system", .verbs = ANY, .help = "the system's home: /etc/haul, /var/lib/haul (root)" },
	{ OPT_JSON, "json", .verbs = ANY, .help = "events as JSON on stdout, one per line, `done` last" },
	{ OPT_QUIET, "quiet", 'q', .verbs = ANY, .help = "silent unless something failed or warned" },
	{ OPT_VERBOSE, "verbose", 'v', .verbs = ANY, .help = "name every entry that changes" },
	{ OPT_LOG_FILE, "log-file", .value = VALUE_TEXT, .verbs = ANY, .hint = "FILE",
	  .help = "append what stderr gets to FILE" },
	{ OPT_HELP, "help", .verbs = ANY, .is_flag_only = true },
	{ OPT_VERSION, "version", .verbs = ANY, .is_flag_only = true },
	NOTHING('a'),
	NOTHING('r'),
	NOTHING('l'),
	NOTHING('p'),
	NOTHING('t'),
	NOTHING('o'),
	NOTHING('g'),
	NOTHING('A'),
	NOTHING('X'),
	NOTHING('z'),
	NOTHING('h'),
	NOTHING('P'),
	NOTHING('W'),
	/* Not in this version. */
	{ .name = "hard-links", .letter = 'H' },
	{ .name = "one-file-system", .letter = 'x' },
	{ .name = "devices", .letter = 'D' },
	LATER("cached"),
	LATER("trash"),
	LATER("no-perms"),
	LATER("no-times"),
	LATER_VALUE("chown"),
	LATER("wait"),
	LATER_FLAG_ONLY("plan"),
	LATER_FLAG_ONLY("run-plan"),
	LATER_FLAG_ONLY("check"),
};

static const struct {
	const char *name, *instead;
} foreign[] = {
	{ "delete", "haul sync does that" },
	{ "remove-source-files", "haul move does that" },
	{ "archive", "Leave it out: copy keeps times, permission bits and links by itself" },
	{ "recursive", "Leave it out: directories are always copied whole" },
	{ "compress", "Leave it out: nothing is compressed" },
	{ "links", "Leave it out: links are copied as links" },
	{ "perms", "Leave it out: permission bits are kept" },
	{ "times", "Leave it out: times are kept" },
	{ "partial", "Leave it out: a file appears only whole" },
	{ "human-readable", "Leave it out: sizes are always printed so" },
	{ "whole-file", "Leave it out" },
	{ "stats", "Leave it out: the last line counts, and --json has every count" },
	{ "info", "Use --progress=always, or --json" },
	{ "rsh", "Leave it out: haul speaks TLS to the peer's agent itself" },
	{ "e", "Leave it out: haul speaks TLS to the peer's agent itself" },
	{ "port", "Write the port with the address: haul peer add ... --address HOST:PORT" },
	{ "relative", "Name the directory in DST: its parents are made" },
	{ "R", "Name the directory in DST: its parents are made" },
	{ "mkpath", "Leave it out: parents of DST are made and named" },
	{ "no-clobber", "Use --ignore-existing" },
	{ "backup", "Use --trash: not in this version" },
	{ "b", "Use --trash: not in this version" },
	{ "backup-dir", "Use --trash: not in this version" },
	{ "delete-after", "haul sync does that" },
	{ "delete-before", "haul sync deletes after the last commit" },
	{ "delete-during", "haul sync deletes after the last commit" },
	{ "delete-excluded", "haul sync never deletes what filters left out" },
	{ "delay-updates", "Leave it out: a file appears only whole" },
	{ "fsync", "Leave it out: files are made durable" },
	{ "append", "Leave it out" },
	{ "append-verify", "Leave it out: -c repairs what differs" },
	{ "filter", "Use --exclude, --include and --only, or --exclude-from FILE" },
	{ "F", "Use --exclude-from FILE" },
	{ "f", "remove: --yes goes past the limit of 1,000 entries; nothing else asks. Filters: --exclude, --only" },
	{ "C", "Use --exclude-from FILE" },
	{ "I", "Use --ignore-times" },
	{ "T", "Leave it out: what is incomplete lies in the share's .haul directory" },
	{ "k", "Use -L, or write the link with a slash at its end" },
	{ "transfers", "Use --lanes N" },
	{ "checkers", "Use --lanes N" },
	{ "multi-thread-streams", "Use --lanes N" },
	{ "size", "Use --block SIZE" },
	{ "acls", "Leave it out: ACLs are kept where both ends can" },
	{ "xattrs", "Leave it out: extended attributes are kept where both ends can" },
	{ "owner", "Leave it out: owners are kept where root may" },
	{ "group", "Leave it out: groups are kept where root may" },
	{ "dereference", "Use -L" },
	{ "interactive", "Use -n first to see what would be done" },
};

const struct option_def *option_table(size_t *ret_count)
{
	*ret_count = COUNT(options);
	return options;
}

const struct option_def *option_find(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT(options); i++)
		if (options[i].name && strlen(options[i].name) == len && !memcmp(options[i].name, name, len))
			return &options[i];
	return NULL;
}

const struct option_def *option_find_letter(char letter)
{
	for (size_t i = 0; letter && i < COUNT(options); i++)
		if (options[i].letter == letter)
			return &options[i];
	return NULL;
}

bool option_has_word(const char *words, const char *word, size_t len)
{
	while (words) {
		const char *end = strchr(words, '|');
		size_t have = end ? (size_t)(end - words) : strlen(words);

		if (have == len && !memcmp(words, word, len))
			return true;
		words = end ? end + 1 : NULL;
	}
	return false;
}

const char *option_foreign(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT(foreign); i++)
		if (strlen(foreign[i].name) == len && !memcmp(foreign[i].name, name, len))
			return foreign[i].instead;
	return NULL;
}

const char *option_suggest(const char *name)
{
	struct suggest s = suggest_begin(name);

	for (size_t i = 0; i < COUNT(options); i++)
		if (options[i].name && options[i].verbs)
			suggest_offer(&s, options[i].name);
	return s.best;
}
