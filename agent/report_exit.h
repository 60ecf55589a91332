/* From the classes of failures that occurred to the exit code of a run. */
#ifndef HAUL_AGENT_REPORT_EXIT_H
#define HAUL_AGENT_REPORT_EXIT_H

#include "agent/transfer.h"

/* reasons: bit n = exit class n occurred. Fills exit_code, reasons and reason_count; reads signal_number. */
void report_fill_exit(struct transfer_report *r, unsigned reasons);

#endif
