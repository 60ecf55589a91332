/* The client's word about epochs decides, since it alone makes connections: the server goes on behind it. */
#include "peer-protocol/lane_slot.h"

#include <assert.h>

haul_status lane_slot_begin(struct lane_slot *s, uint32_t *ret_epoch)
{
	assert(s->is_client && s->state == LANE_SLOT_VACANT);
	if (s->next_epoch == UINT32_MAX)
		return HAUL_OVERFLOW;
	*ret_epoch = s->next_epoch++;
	s->state = LANE_SLOT_TAKEN;
	return HAUL_OK;
}

bool lane_slot_claim(struct lane_slot *s, uint32_t epoch)
{
	if (s->is_client || epoch != s->next_epoch || epoch == UINT32_MAX ||
	    (s->state != LANE_SLOT_VACANT && s->state != LANE_SLOT_TAKEN))
		return false;
	s->next_epoch++;
	s->state = LANE_SLOT_TAKEN;
	return true;
}

bool lane_slot_ended(struct lane_slot *s, uint32_t last_epoch, uint32_t *ret_epoch)
{
	bool was_heard = s->state == LANE_SLOT_ENDING;

	assert(was_heard || s->state == LANE_SLOT_TAKEN);
	if (s->is_client && last_epoch >= s->next_epoch)
		s->next_epoch = last_epoch + 1;
	*ret_epoch = s->next_epoch - 1;
	s->state = was_heard ? LANE_SLOT_VACANT : LANE_SLOT_LOST;
	return was_heard;
}

/* A server that hears of a connection it has not seen is told where to go on; one it knows of cannot be unknown there.
 */
static bool is_epoch_right(const struct lane_slot *s, uint32_t epoch)
{
	if (epoch == UINT32_MAX)
		return false;
	if (s->is_client)
		return s->state == LANE_SLOT_TAKEN || epoch < s->next_epoch;
	return epoch + 1 >= s->next_epoch;
}

haul_status lane_slot_heard(struct lane_slot *s, uint32_t epoch, enum lane_slot_action *ret_action, uint32_t *ret_epoch)
{
	bool is_known = !s->is_client || s->state == LANE_SLOT_TAKEN || s->state == LANE_SLOT_LOST;

	if (!is_known || s->state == LANE_SLOT_ENDING)
		return HAUL_BAD_MOVE;
	if (!is_epoch_right(s, epoch))
		return HAUL_BAD_VALUE;
	if (!s->is_client)
		s->next_epoch = epoch + 1;
	*ret_epoch = s->next_epoch ? s->next_epoch - 1 : 0;
	switch (s->state) {
	case LANE_SLOT_VACANT:
		*ret_action = LANE_SLOT_SAY_TOO;
		return HAUL_OK;
	case LANE_SLOT_TAKEN:
		s->state = LANE_SLOT_ENDING;
		*ret_action = LANE_SLOT_END_IT;
		return HAUL_OK;
	case LANE_SLOT_LOST:
		s->state = LANE_SLOT_VACANT;
		*ret_action = LANE_SLOT_NOTHING;
		return HAUL_OK;
	case LANE_SLOT_ENDING:
		break;
	}
	return HAUL_BAD_MOVE;
}
