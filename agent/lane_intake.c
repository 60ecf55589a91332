/*
 * One block to begin with, and one more for each that has left: a lane that has just joined a full line sends slowly
 * for seconds (had it 6 blocks of 2 MiB at 100 ms: 5 s).
 *
 * Over a long round trip the windows of lanes differ for long, by a factor of four after losses, and a lane's blocks
 * and its socket's buffer hold as much as it sends in four to ten round trips. There the disk need not be further ahead
 * than READY_FAR blocks; where it is slower than the line, nothing is ready, and the lane reads with all that it has.
 */
#include "agent/lane_intake.h"

enum { READY_FAR = 2 };

bool lane_intake_allows(const struct lane_intake *in)
{
	if (in->is_far && in->ready >= READY_FAR)
		return false;
	return in->taken <= in->sent;
}
