/* How many files this process may have open: every source of a move or removal keeps its directory, lanes much more. */
#ifndef HAUL_AGENT_DESCRIPTOR_LIMIT_H
#define HAUL_AGENT_DESCRIPTOR_LIMIT_H

#include <stdbool.h>

/* As many as we are allowed. Once, before there are threads. False: the limit stays as it is. */
bool descriptor_limit_raise(void);

#endif
