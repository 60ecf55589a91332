/* docs/CLI.md "Exit codes": a signal, then this order; 2 and 1 mean that nothing was touched and stand alone. */
#include "agent/report_exit.h"

void report_fill_exit(struct transfer_report *r, unsigned reasons)
{
	static const int order[] = { 10, 6, 5, 7, 4, 3, 9, 8, 11, 2, 1 };

	if (r->signal_number)
		r->reasons[r->reason_count++] = 128 + r->signal_number;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && r->reason_count < TRANSFER_REASONS_MAX; i++) {
		if (reasons & 1u << order[i])
			r->reasons[r->reason_count++] = order[i];
	}
	r->exit_code = r->reason_count ? r->reasons[0] : 0;
}
