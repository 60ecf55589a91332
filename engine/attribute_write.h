/* Setting extended attributes through the handle of what shall have them. Internal to the engine. Blocking. */
#ifndef HAUL_ENGINE_ATTRIBUTE_WRITE_H
#define HAUL_ENGINE_ATTRIBUTE_WRITE_H

#include "engine/base/attributes.h"
#include "engine/base/entry.h"

struct attribute_wish {
	const struct attributes *wanted; /* NULL: none of these kinds */
	unsigned kinds;                  /* enum attribute_kind: what is made so; others stay as they are */
	bool is_bare;                    /* just made, with none of them: nothing has to be looked for and removed */
};

/*
 * Give what the handle (O_PATH is fine, then procfs is needed) stands for exactly these attributes, of these kinds.
 * After its owner has been set, because that takes some away, and before its mode, of which an ACL is a part.
 *
 * lost       enum entry_lost of what could not be set or removed is added: that is no failure.
 * HAUL_IO    and what else says that the disk, not the attribute, is at fault. HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status attribute_apply(int fd, const struct attribute_wish *wish, uint32_t *lost);

#endif
