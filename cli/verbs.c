/* One table; help, refusals and suggestions are made from it. */
#include "cli/verbs.h"

#include "cli/suggest.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct verb_def verbs[] = {
	{ .name = "copy",
	  .verb = VERB_COPY,
	  .is_built = true,
	  .min = 2,
	  .max = OPERANDS_ANY,
	  .usage = "haul copy [OPTION]... SRC... DST",
	  .purpose = "Copy files and trees between this machine and a peer, or within this machine.\n"
		     "Every block is checked; a file appears under its name only whole and durable.\n"
		     "What is there already with the same size and time is left alone. Where a file\n"
		     "system can share extents, a copy within this machine is instant for files over\n"
		     "256 KiB; --verify=transfer has them read.\n",
	  .examples = "  haul copy Footage nas:inbox/day1      lands as nas:inbox/day1/Footage\n"
		      "  haul copy Footage/ nas:inbox/day1     its contents into day1\n"
		      "  haul copy nas:projects/cut7.mov .     from the peer to here\n"
		      "  haul copy Footage /mnt/backup         within this machine\n"
		      "  haul copy -n Footage nas:inbox        say what would be done, change nothing\n"
		      "  haul copy -c Footage nas:inbox        compare by content, repair what differs\n" },
	{ .name = "sync",
	  .verb = VERB_SYNC,
	  .is_built = true,
	  .min = 2,
	  .max = 2,
	  .usage = "haul sync [OPTION]... SRC DST",
	  .purpose = "Copy a directory, then delete at the destination what the source no longer has:\n"
		     "only inside what it writes to, after everything else is durable. Refused (exit 9,\n"
		     "copies kept, nothing deleted): more than 10 deletions that are also more than\n"
		     "1,000 or a tenth of what is there; an empty source; one that could not be read\n"
		     "whole; one on another file system than last time.\n",
	  .examples = "  haul sync Projects/ nas:projects      its contents are what nas:projects holds\n"
		      "  haul sync Projects nas:backup         the same for nas:backup/Projects\n"
		      "  haul sync -n Projects/ nas:projects   say what would be sent and deleted\n" },
	{ .name = "move",
	  .verb = VERB_MOVE,
	  .is_built = true,
	  .min = 2,
	  .max = OPERANDS_ANY,
	  .usage = "haul move [OPTION]... SRC... DST",
	  .purpose = "Move files and trees: one rename each, landing where copy lands; to another\n"
		     "file system, to or from a peer copied, proven, made durable, and only then\n"
		     "deleted. dir/ is emptied and stays. Where directories meet they become one. A\n"
		     "name that is taken stays where it was and is named, exit 3. A share of this\n"
		     "home or what holds one is refused.\n",
	  .examples = "  haul move Footage archive             lands as archive/Footage\n"
		      "  haul move Footage nas:inbox           to a peer\n"
		      "  haul move Footage/ archive            its contents into archive\n"
		      "  haul move --as Cut7 Footage archive   lands as archive/Cut7\n"
		      "  haul move --as Cut7 Footage .         rename it here\n"
		      "  haul move -n Footage archive          say what would be renamed\n"
		      "  haul move --on-conflict=number *.wav archive     a taken name becomes NAME 2\n" },
	{ .name = "remove",
	  .verb = VERB_REMOVE,
	  .is_built = true,
	  .min = 1,
	  .max = OPERANDS_ANY,
	  .usage = "haul remove [OPTION]... PATH...",
	  .purpose = "Remove files and whole trees on this machine, several entries at a time. Links\n"
		     "are removed, never followed; what is mounted below stays. Refused: /, a mount\n"
		     "point, a share of this home or what holds one. More than 1,000 entries want\n"
		     "--yes, or a yes at the terminal. What stays is named, exit 3.\n",
	  .examples = "  haul remove old.mov day1\n"
		      "  haul remove -n day1                   say what would go\n"
		      "  haul remove --yes render-cache        many entries, without being asked\n" },
	{ .name = "verify",
	  .verb = VERB_VERIFY,
	  .is_built = true,
	  .min = 2,
	  .max = 2,
	  .usage = "haul verify [OPTION]... SRC DST",
	  .purpose = "Compare two trees or files, here or on a peer, by hash tree: every byte of\n"
		     "both is read, nothing is changed. SRC and DST are compared themselves: write\n"
		     "where the copy landed, not into what it was copied. Exit 4 when content differs.\n",
	  .examples = "  haul verify Footage nas:inbox/day1/Footage\n"
		      "  haul verify --exact nas:projects/cut7 ./cut7\n" },
	{ .name = "hash", .verb = VERB_HASH, .usage = "haul hash PATH..." },
	{ .name = "list",
	  .verb = VERB_LIST,
	  .is_built = true,
	  .max = 1,
	  .usage = "haul list [PEER:[SHARE[/PATH]]]\n"
		   "haul list --partials PEER:SHARE[/PATH] | DIRECTORY",
	  .purpose = "Without a place: the peers this machine knows. PEER: alone: its shares, what\n"
		     "this machine may do there, and free space. A place: the entries there.\n"
		     "--partials: files that did not arrive whole, and how much of each is there; the\n"
		     "same copy goes on with them. A share's directory, or the one copied into.\n",
	  .examples = "  haul list\n"
		      "  haul list nas:\n"
		      "  haul list nas:inbox/day1\n"
		      "  haul list --partials nas:inbox\n" },
	{ .name = "diagnose",
	  .verb = VERB_DIAGNOSE,
	  .is_built = true,
	  .max = 2,
	  .usage = "haul diagnose [OPTION]... [PATH] [PEER:SHARE]",
	  .purpose = "Measure each part of a transfer alone, about a second each: the disk at PATH\n"
		     "(the current directory), digests, encryption, the network without disks,\n"
		     "the peer's disk; then the whole. Says which part is the narrowest and what would\n"
		     "help. What is written here has no name, at the peer a private one in .haul/; it\n"
		     "is removed.\n",
	  .examples = "  haul diagnose nas:inbox               from here to there\n"
		      "  haul diagnose /mnt/raid nas:inbox     read from another disk\n"
		      "  haul diagnose /mnt/raid               this machine alone\n"
		      "  haul diagnose --lanes 1 nas:inbox     as one lane would have it\n" },
	{ .name = "id",
	  .verb = VERB_ID,
	  .is_built = true,
	  .usage = "haul id [--json]",
	  .purpose = "This machine's name and device id, its home, whether its agent runs, and the\n"
		     "line to paste on the other machine so that it knows this one.\n",
	  .examples = "  haul id\n" },
	{ .name = "share",
	  .verb = VERB_SHARE,
	  .is_built = true,
	  .min = 1,
	  .max = 3,
	  .usage = "haul share add NAME PATH [--own USER:GROUP] [--umask N]\n"
		   "               [--keep-partials DAYS]\n"
		   "haul share list\n"
		   "haul share remove NAME",
	  .purpose = "Directories that this machine offers to its peers, by name. Peers never see the\n"
		     "path. Who may do what there is said by `haul peer allow`.\n",
	  .examples = "  haul share add inbox /srv/inbox\n"
		      "  haul share add projects /tank/projects --own media:media --umask 002\n"
		      "  haul share remove inbox\n" },
	{ .name = "peer",
	  .verb = VERB_PEER,
	  .is_built = true,
	  .min = 1,
	  .max = 3,
	  .usage = "haul peer add DEVICE-ID --name NAME [--address HOST[:PORT]]...\n"
		   "              [--allow SHARE=RIGHTS]... [--quota SIZE]\n"
		   "haul peer list\n"
		   "haul peer show NAME\n"
		   "haul peer remove NAME\n"
		   "haul peer allow NAME SHARE=RIGHTS [--quota SIZE[/day|/week|/month]]",
	  .purpose = "Machines that this one knows. Both must know each other. RIGHTS on shares of\n"
		     "this machine: list read create overwrite delete meta special, joined by commas,\n"
		     "or reader dropbox writer mirror backup full; `none` takes them away.\n"
		     "--quota is by how much the peer may make the share grow, from now on or in each\n"
		     "day, week or month of 30 days; giving it again begins to count anew.\n",
	  .examples = "  haul peer add 7H2K-... --name edit1 --allow inbox=writer\n"
		      "  haul peer add 7H2K-... --name nas --address 192.168.1.20\n"
		      "  haul peer allow edit1 projects=reader\n"
		      "  haul peer allow edit1 inbox=writer --quota 2T\n"
		      "  haul peer allow cam3 inbox=dropbox --quota 200G/day\n" },
	{ .name = "help", .verb = VERB_HELP, .is_built = true, .max = 1, .usage = "haul help [VERB]" },
	{ .name = "send", .verb = VERB_KEPT_FREE },
	{ .name = "receive", .verb = VERB_KEPT_FREE },
	{ .name = "pair", .verb = VERB_KEPT_FREE },
	{ .name = "discover", .verb = VERB_KEPT_FREE },
	{ .name = "jobs", .verb = VERB_KEPT_FREE },
	{ .name = "history", .verb = VERB_KEPT_FREE },
	{ .name = "retry", .verb = VERB_KEPT_FREE },
	{ .name = "report", .verb = VERB_KEPT_FREE },
};

/* What the same thing is called elsewhere. */
static const struct {
	const char *foreign, *ours;
} elsewhere[] = {
	{ "cp", "copy" },        { "scp", "copy" },      { "rsync", "copy" }, { "put", "copy" },
	{ "get", "copy" },       { "push", "copy" },     { "pull", "copy" },  { "upload", "copy" },
	{ "download", "copy" },  { "check", "verify" },  { "cmp", "verify" }, { "diff", "verify" },
	{ "compare", "verify" }, { "ls", "list" },       { "dir", "list" },   { "shares", "share" },
	{ "mv", "move" },        { "rename", "move" },   { "rm", "remove" },  { "delete", "remove" },
	{ "rmdir", "remove" },   { "unlink", "remove" }, { "peers", "peer" }, { "whoami", "id" },
	{ "status", "id" },
};

const struct verb_def *verb_table(size_t *ret_count)
{
	*ret_count = COUNT(verbs);
	return verbs;
}

const struct verb_def *verb_find(const char *name)
{
	for (size_t i = 0; i < COUNT(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

const char *verb_suggest(const char *name)
{
	struct suggest s = suggest_begin(name);

	for (size_t i = 0; i < COUNT(elsewhere); i++)
		if (!strcmp(elsewhere[i].foreign, name))
			return elsewhere[i].ours;
	for (size_t i = 0; i < COUNT(verbs); i++)
		if (verbs[i].is_built)
			suggest_offer(&s, verbs[i].name);
	return s.best;
}
