/* What of the entries' metadata could not be kept: counted entry by entry, told at the end, one warning for each class.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "agent/peer_error.h"
#include "certs/rights.h"
#include "engine/base/escape.h"

#include <stdio.h>
#include <string.h>

static const struct {
	uint32_t bit;   /* enum entry_lost */
	uint64_t right; /* that is missing; 0: none is */
	const char *what;
	const char *why; /* without a right; follows what */
} classes[LOST_KINDS] = {
	{ LOST_ATTRIBUTES_RIGHT, RIGHT_META, "extended attributes", NULL },
	{ LOST_ATTRIBUTES_STORE, 0, "extended attributes", "the destination cannot store them" },
	{ LOST_ATTRIBUTES_ROOM, 0, "extended attributes", "the destination has no room for all of them" },
	{ LOST_ATTRIBUTES_SOURCE, 0, "extended attributes",
	  "some cannot be read, or are more than 128 KiB or 256 of one entry" },
	{ LOST_ACL_RIGHT, RIGHT_META, "ACLs", NULL },
	{ LOST_ACL_STORE, 0, "ACLs", "the destination cannot store them" },
	{ LOST_TRUSTED_RIGHT, RIGHT_SPECIAL, "security and trusted attributes", NULL },
	{ LOST_OWNER_RIGHT, RIGHT_SPECIAL, "owners", NULL },
	{ LOST_OWNER_STORE, 0, "owners", "the destination cannot have them" },
	{ LOST_OWNER_NAME, 0, "owners' names", "not known at the destination, kept by number" },
	{ LOST_SPECIAL_BITS, RIGHT_SPECIAL, "setuid and setgid bits", NULL },
};

/* While the peer is there to be asked. */
static void note_own_name(struct transfer *t)
{
	const struct msg_hello *hello = t->link ? control_peer_hello(control_link_session(t->link)) : NULL;

	if (hello && !t->own_name[0])
		(void)snprintf(t->own_name, sizeof(t->own_name), "%.*s", (int)hello->your_name.len,
			       hello->your_name.at);
}

void transfer_count_lost(struct transfer *t, uint32_t lost)
{
	if (lost)
		note_own_name(t);
	for (size_t i = 0; lost && i < LOST_KINDS; i++)
		t->report->lost[i] += (lost & classes[i].bit) != 0;
}

static const char *right_name(uint64_t right)
{
	return right == RIGHT_SPECIAL ? "special" : "meta";
}

static const char *entries_text(uint64_t n, char *ret_text, size_t cap)
{
	char digits[24], grouped[32];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), to = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			grouped[to++] = ',';
		grouped[to++] = digits[i];
	}
	grouped[to] = '\0';
	(void)snprintf(ret_text, cap, "%s %s", grouped, n == 1 ? "entry" : "entries");
	return ret_text;
}

/* As nas calls us, and what has to be run there. */
static void explain_right(const struct transfer *t, uint64_t right, struct peer_error *ret_words)
{
	struct msg_error why = { .code = HAUL_CODE_NO_RIGHT,
				 .share = { t->remote->share, strlen(t->remote->share) },
				 .missing_right = right,
				 .your_name = { t->own_name, strlen(t->own_name) },
				 .held_rights = t->rights };

	peer_error_explain(&why, t->peer_name, ret_words);
}

static void tell(struct transfer *t, size_t class)
{
	char text[HAUL_FAULT_TEXT_MAX + 160], name[4 * MESSAGE_PEER_NAME_MAX], count[48];
	struct peer_error words = { .remedy = "" };
	struct transfer_problem p = { .code = HAUL_CODE_UNSUPPORTED,
				      .exit_code = EXIT_CLASS_ENTRIES,
				      .side = classes[class].bit == LOST_ATTRIBUTES_SOURCE ? "source" : "destination",
				      .text = text };

	entries_text(t->report->lost[class], count, sizeof(count));
	if (!classes[class].right) {
		(void)snprintf(text, sizeof(text), "%s not kept: %s (%s)", classes[class].what, classes[class].why,
			       count);
	} else {
		p.code = HAUL_CODE_NO_RIGHT;
		explain_right(t, classes[class].right, &words);
		(void)snprintf(text, sizeof(text), "%s not kept: %s has no \"%s\" on %s (%s)", classes[class].what,
			       haul_escape(t->own_name, strlen(t->own_name), name, sizeof(name)),
			       right_name(classes[class].right), t->remote->share, count);
		p.remedy = words.remedy[0] ? words.remedy : NULL;
	}
	t->obs->on_warning(t->obs->ctx, &p);
}

void transfer_tell_lost(struct transfer *t)
{
	for (size_t i = 0; i < LOST_KINDS && t->obs->on_warning; i++) {
		if (t->report->lost[i])
			tell(t, i);
	}
}
