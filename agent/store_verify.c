/* Verify compares kinds, link targets and metadata by stat, contents by leaf digests read on both sides. */
#include "agent/store_verify.h"

#include "agent/store_meta.h"
#include "agent/store_surplus.h"

#include <stdlib.h>
#include <string.h>

static void differs(struct recv_entry *e, uint32_t changes)
{
	e->verdict = VERDICT_RESULT;
	e->outcome = OUTCOME_FAILED;
	e->changes |= changes;
}

static void verify_link(struct store *s, struct recv_entry *e)
{
	char *target = NULL;
	size_t len = 0;
	haul_status st = place_read_link(s->cfg.place, e->path, &target, &len);

	if (haul_failed(st) || len != e->link_target_len || memcmp(target, e->link_target, len) != 0)
		differs(e, CHANGE_CONTENT);
	free(target);
}

void store_verify_look(struct store *s, struct recv_entry *e)
{
	e->verdict = VERDICT_RESULT;
	e->outcome = OUTCOME_PROVEN;
	if (!e->states && !store_note_name(e)) {
		e->outcome = OUTCOME_FAILED;
		e->code = HAUL_NO_MEMORY;
		return;
	}
	if (!e->has_seen) {
		differs(e, CHANGE_MISSING);
		if (e->node)
			e->node->is_missing = true;
		return;
	}
	if (e->seen.kind != e->facts.kind) {
		differs(e, CHANGE_KIND | CHANGE_CONTENT);
		if (e->node)
			e->node->is_missing = true;
		return;
	}
	e->changes = store_meta_changes(s, e);
	if (e->facts.kind == ENTRY_LINK)
		verify_link(s, e);
	if (e->facts.kind == ENTRY_FILE) {
		e->verdict = VERDICT_DIGESTS;
		e->changes |= e->seen.size != e->facts.size ? CHANGE_SIZE : 0;
	}
}
