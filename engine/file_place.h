/* Where a file begins on its disk, to read many of them without running to and fro. */
#ifndef HAUL_ENGINE_FILE_PLACE_H
#define HAUL_ENGINE_FILE_PLACE_H

#include <stdint.h>

/*
 * The byte of the device at which the first extent of `fd` lies (FIEMAP), else `inode`: where a file system does not
 * tell, files with close numbers as a rule lie close. Only compared with others of the same file system.
 *
 * fd   borrowed, open for reading. Blocking (metadata of the file). Thread: any.
 */
uint64_t file_place(int fd, uint64_t inode);

#endif
