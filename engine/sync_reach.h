/* How far syncfs(2) reaches: some file systems say yes to it and have nothing done. */
#ifndef HAUL_ENGINE_SYNC_REACH_H
#define HAUL_ENGINE_SYNC_REACH_H

#include <stdbool.h>

/*
 * Whether syncfs on this handle (not O_PATH) makes everything durable that its file system has. False for FUSE, of
 * which the kernel asks virtiofs alone (sshfs, ntfs-3g, mergerfs hear nothing and syncfs says 0), for SMB, where data
 * goes to the server without the flush that fsync demands, and for 9p. There every file and directory has to be synced
 * by itself.
 */
bool sync_reaches_all(int fd);

#endif
