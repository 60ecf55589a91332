/* Whether this machine's processor has instructions for AES-GCM. */
#ifndef HAUL_CERTS_CPU_AES_H
#define HAUL_CERTS_CPU_AES_H

#include <stdbool.h>

/* Any thread. Where it is not known, true: libcrypto is then still faster than ChaCha20 in plain C. */
bool cpu_has_aes(void);

#endif
