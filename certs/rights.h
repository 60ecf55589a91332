/*
 * What a peer may do on a share: a set of rights, in words that a person writes.
 *
 * Bits are stable: they go on the wire and, as words, into the list of peers.
 */
#ifndef HAUL_CERTS_RIGHTS_H
#define HAUL_CERTS_RIGHTS_H

#include "engine/base/fault.h"

#include <stddef.h>
#include <stdint.h>

#define RIGHT_LIST UINT64_C(0x01)      /* see names */
#define RIGHT_READ UINT64_C(0x02)      /* fetch content */
#define RIGHT_CREATE UINT64_C(0x04)    /* new files with their times and permission bits; never replace */
#define RIGHT_OVERWRITE UINT64_C(0x08) /* replace */
#define RIGHT_DELETE UINT64_C(0x10)    /* delete, and move out of the share */
#define RIGHT_META UINT64_C(0x20)      /* change metadata later; owner among the agent's own, xattr, ACL */
#define RIGHT_SPECIAL UINT64_C(0x40)   /* foreign owners, setuid, device nodes, trusted attributes */

#define RIGHTS_READER (RIGHT_LIST | RIGHT_READ)
#define RIGHTS_DROPBOX RIGHT_CREATE
#define RIGHTS_BACKUP (RIGHT_LIST | RIGHT_CREATE)
#define RIGHTS_WRITER (RIGHT_LIST | RIGHT_READ | RIGHT_CREATE | RIGHT_OVERWRITE | RIGHT_META)
#define RIGHTS_MIRROR (RIGHTS_WRITER | RIGHT_DELETE)
#define RIGHTS_FULL (RIGHTS_MIRROR | RIGHT_SPECIAL) /* all there are */

enum { RIGHTS_TEXT_MAX = 64 }; /* any printed set with its NUL fits */

/*
 * Read "list,read", "writer", "reader,delete" or, alone, "none". *ret_rights is untouched on failure.
 *
 * HAUL_BAD_VALUE   an empty or unknown word; the fault names it and those allowed.
 */
HAUL_MUST_USE haul_status rights_parse(const char *text, uint64_t *ret_rights, struct haul_fault *fault);

/* The bundle's name where the set is one, else its words, "list,delete"; "none" for 0. Returns ret_text. */
const char *rights_text(uint64_t rights, char ret_text[RIGHTS_TEXT_MAX]);

/* Always the single words, "list,read"; "none" for 0. Bits that are no right are left out. Returns ret_text. */
const char *rights_words(uint64_t rights, char ret_text[RIGHTS_TEXT_MAX]);

#endif
