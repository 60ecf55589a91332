/* A file without a name, for what does not fit into memory: gone with its descriptor, also after kill -9. */
#ifndef HAUL_ENGINE_SCRATCH_FILE_H
#define HAUL_ENGINE_SCRATCH_FILE_H

/*
 * Make one in the directory `dir` (relative to dir_fd, or to nothing with AT_FDCWD), for reading and writing, mode
 * 0600. Where the file system has no files without a name, it has one for the time of two calls.
 *
 * Returns a descriptor (given: close), or -1 with errno. Thread: any.
 */
int scratch_file_open(int dir_fd, const char *dir);

#endif
