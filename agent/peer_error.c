/*
 * Every text in an ERROR comes from the peer: it is cut and escaped before it gets near a line. The wording is ours;
 * the peer's own words are used only where we have none.
 */
#include "agent/peer_error.h"

#include "agent/exit_class.h"
#include "certs/rights.h"
#include "engine/base/escape.h"

#include <stdio.h>
#include <string.h>

enum { PART_MAX = 96, PATH_PART_MAX = 160, OFFERED_MAX = 200 };

/* The texts of an ERROR, printable. */
struct parts {
	const char *peer;
	char name[PART_MAX]; /* ours in the peer's list */
	char share[PART_MAX];
	char where[PATH_PART_MAX + 2 * PART_MAX]; /* "nas:inbox/day1" as far as it is known */
};

static const char *printable(struct text t, char *ret_text, size_t cap)
{
	return haul_escape(t.at ? t.at : "", t.at ? t.len : 0, ret_text, cap);
}

static void parts_of(const struct msg_error *e, const char *peer_name, struct parts *p)
{
	char path[PATH_PART_MAX];

	p->peer = peer_name;
	printable(e->your_name, p->name, sizeof(p->name));
	if (!*p->name)
		snprintf(p->name, sizeof(p->name), "NAME");
	printable(e->share, p->share, sizeof(p->share));
	printable(e->path, path, sizeof(path));
	snprintf(p->where, sizeof(p->where), "%s:%s%s%s", peer_name, p->share, *p->share && *path ? "/" : "", path);
}

/* What a right lets one do, to stand before a share's name. */
static const char *deed(uint64_t right)
{
	static const struct {
		uint64_t right;
		const char *words;
	} deeds[] = {
		{ RIGHT_LIST, "list" },
		{ RIGHT_READ, "read from" },
		{ RIGHT_CREATE, "create in" },
		{ RIGHT_OVERWRITE, "overwrite in" },
		{ RIGHT_DELETE, "delete in" },
		{ RIGHT_META, "change metadata in" },
		{ RIGHT_SPECIAL, "make special files in" },
	};

	for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++)
		if (deeds[i].right == right)
			return deeds[i].words;
	return "do this in";
}

/* The smallest bundle with all of these rights. */
static uint64_t bundle_with(uint64_t rights)
{
	static const uint64_t bundles[] = { RIGHTS_DROPBOX, RIGHTS_READER, RIGHTS_BACKUP, RIGHTS_WRITER,
					    RIGHTS_MIRROR };

	for (size_t i = 0; i < sizeof(bundles) / sizeof(*bundles); i++)
		if (!(rights & ~bundles[i]))
			return bundles[i];
	return RIGHTS_FULL;
}

static void explain_right(const struct msg_error *e, const struct parts *p, struct peer_error *ret)
{
	char held[RIGHTS_TEXT_MAX], enough[RIGHTS_TEXT_MAX];

	snprintf(ret->text, sizeof(ret->text), "%s: %s may not %s %s (has %s)", p->peer, p->name,
		 deed(e->missing_right), p->share, rights_words(e->held_rights, held));
	snprintf(ret->remedy, sizeof(ret->remedy), "On %s run: haul peer allow %s %s=%s", p->peer, p->name, p->share,
		 rights_text(bundle_with(e->held_rights | e->missing_right), enough));
}

static void explain_share(const struct msg_error *e, const struct parts *p, struct peer_error *ret)
{
	char offered[OFFERED_MAX + 8] = "", name[PART_MAX];
	size_t used = 0;

	for (size_t i = 0; i < e->offered_count && i < MESSAGE_SHARES_MAX; i++) {
		printable(e->offered[i], name, sizeof(name));
		if (used + strlen(name) + 2 > OFFERED_MAX) {
			snprintf(offered + used, sizeof(offered) - used, ", ...");
			break;
		}
		used += (size_t)snprintf(offered + used, sizeof(offered) - used, "%s%s", used ? ", " : "", name);
	}
	snprintf(ret->text, sizeof(ret->text), "%s offers this device no share \"%s\" (offered: %s)", p->peer, p->share,
		 *offered ? offered : "none");
	if (!*offered)
		snprintf(ret->remedy, sizeof(ret->remedy), "On %s run: haul peer allow %s %s=writer", p->peer, p->name,
			 p->share);
}

const char *peer_error_bytes(uint64_t bytes, char *ret_text, size_t cap)
{
	static const char *const units[] = { "bytes", "KB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 999.95 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1000;
		unit++;
	}
	snprintf(ret_text, cap, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return ret_text;
}

static void explain_space(const struct msg_error *e, const struct parts *p, struct peer_error *ret)
{
	char lacks[32], free_text[32];
	uint64_t missing = e->need_bytes > e->free_bytes ? e->need_bytes - e->free_bytes : 0;

	if (missing)
		snprintf(ret->text, sizeof(ret->text), "%s:%s lacks %s (%s free)", p->peer, p->share,
			 peer_error_bytes(missing, lacks, sizeof(lacks)),
			 peer_error_bytes(e->free_bytes, free_text, sizeof(free_text)));
	else
		snprintf(ret->text, sizeof(ret->text), "%s: %s", p->where, haul_status_text(ret->status));
}

/* Our own phrase for a status of ours, the peer's words for what it alone can tell. */
static void explain_other(const struct msg_error *e, const struct parts *p, struct peer_error *ret)
{
	char words[120];
	bool has_place = *p->share || e->path.len;

	printable(e->text, words, sizeof(words));
	snprintf(ret->text, sizeof(ret->text), "%s: %s", has_place ? p->where : p->peer,
		 *words ? words : haul_status_text(ret->status));
}

void peer_error_explain(const struct msg_error *e, const char *peer_name, struct peer_error *ret_error)
{
	struct parts p;

	parts_of(e, peer_name, &p);
	*ret_error = (struct peer_error){ .status = haul_status_from_number(e->code) };
	if (haul_ok(ret_error->status))
		ret_error->status = HAUL_BUG;
	ret_error->exit_code = exit_class_of(ret_error->status);
	switch ((int)ret_error->status.code) {
	case HAUL_CODE_NO_RIGHT:
		explain_right(e, &p, ret_error);
		break;
	case HAUL_CODE_NO_SHARE:
		explain_share(e, &p, ret_error);
		break;
	case HAUL_CODE_NO_SPACE:
	case HAUL_CODE_QUOTA:
		explain_space(e, &p, ret_error);
		break;
	case HAUL_CODE_NOT_KNOWN:
		snprintf(ret_error->text, sizeof(ret_error->text), "%s does not know this device", p.peer);
		break;
	case HAUL_CODE_NOT_FOUND:
	case HAUL_CODE_LINK_IN_PATH:
	case HAUL_CODE_NOT_DIRECTORY:
	case HAUL_CODE_DENIED:
		if (e->text.len && !e->path.len) {
			explain_other(e, &p, ret_error);
			break;
		}
		snprintf(ret_error->text, sizeof(ret_error->text), "%s: %s", p.where,
			 haul_status_text(ret_error->status));
		break;
	default:
		explain_other(e, &p, ret_error);
	}
}

void peer_error_explain_quota(const struct msg_error *e, const struct job_lack *lack, const char *peer_name,
			      struct peer_error *ret_error)
{
	char quota[32], used[32], more[32], rights[RIGHTS_TEXT_MAX];
	uint64_t left = lack->free_bytes < lack->quota_bytes ? lack->free_bytes : lack->quota_bytes;
	uint64_t missing = lack->need_bytes > left ? lack->need_bytes - left : 0;
	struct parts p;

	parts_of(e, peer_name, &p);
	*ret_error = (struct peer_error){ .status = HAUL_QUOTA, .exit_code = exit_class_of(HAUL_QUOTA) };
	snprintf(ret_error->text, sizeof(ret_error->text), "%s:%s: the quota of %s is %s, %s used; this needs %s more",
		 p.peer, p.share, p.name, peer_error_bytes(lack->quota_bytes, quota, sizeof(quota)),
		 peer_error_bytes(lack->quota_bytes - left, used, sizeof(used)),
		 peer_error_bytes(missing, more, sizeof(more)));
	snprintf(ret_error->remedy, sizeof(ret_error->remedy), "On %s run: haul peer allow %s %s=%s --quota SIZE",
		 p.peer, p.name, p.share, rights_text(e->held_rights, rights));
}
