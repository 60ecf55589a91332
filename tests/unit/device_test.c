/* What a path lies on: lines of mountinfo, trees like sysfs with machines of all kinds in them, and the one at hand. */
#include "engine/device.h"

#include "engine/device_probe.h"
#include "engine/device_world.h"
#include "engine/mountinfo.h"

#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/skip_because.h"

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

static void mount_lines(void **state)
{
	static const char *const bad[] = { "",
					   "1",
					   "1 2 3:4 / / rw",
					   "a b c:d / / rw - ext4 /dev/sda rw",
					   "1 2 3:4 / / rw - ext4",
					   "1 2 3:4 - ext4 /dev/sda rw",
					   "1 2 3:4 / - ext4 /dev/sda rw",
					   "1 2 3:4 / / rw - " };
	char with_options[] =
	    "36 35 98:1 /a /b\\040c rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n";
	char escapes[] = "8 1 0:53 / /back\\134slash\\011tab rw - ext4 /dev/a\\9\\04\n";
	char without[] = "7 1 0:52 / / rw - fuse.sshfs me@host:/x rw\n";
	struct mount_line m;

	(void)state;
	assert_true(mount_line_parse(with_options, &m));
	assert_int_equal(m.id, 36);
	assert_int_equal(m.major, 98);
	assert_int_equal(m.minor, 1);
	assert_string_equal(m.root, "/a");
	assert_string_equal(m.point, "/b c");
	assert_string_equal(m.file_system, "ext3");
	assert_string_equal(m.source, "/dev/root");
	assert_true(mount_line_parse(escapes, &m));
	assert_string_equal(m.point, "/back\\slash\ttab");
	assert_string_equal(m.source, "/dev/a\\9\\04");
	assert_true(mount_line_parse(without, &m));
	assert_int_equal(m.minor, 52);
	assert_string_equal(m.file_system, "fuse.sshfs");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "%s", bad[i]);
		assert_false(mount_line_parse(line, &m));
	}
}

/*
 * One tree like sysfs: an NVMe partition, RAID over partitions of two SATA disks under device mapper, an SSD, a USB
 * disk that rotates, a virtual disk that claims to, loop devices over files on these, and a btrfs over three disks.
 */
static const char *const tree[] = {
	"d sys",
	"d sys/bus",
	"d sys/bus/nvme",
	"d sys/bus/sd",
	"d sys/bus/virtio_blk",
	"d sys/dev",
	"d sys/dev/block",
	"d sys/devices",
	"d sys/devices/pci",
	"l sys/devices/pci/driver ../../bus/nvme",
	"d sys/devices/pci/nvme0",
	"l sys/devices/pci/nvme0/device ../../pci",
	"d sys/devices/pci/nvme0/nvme0n1",
	"f sys/devices/pci/nvme0/nvme0n1/dev 259:0",
	"l sys/devices/pci/nvme0/nvme0n1/device ../../nvme0",
	"d sys/devices/pci/nvme0/nvme0n1/queue",
	"f sys/devices/pci/nvme0/nvme0n1/queue/rotational 0",
	"f sys/devices/pci/nvme0/nvme0n1/queue/nr_requests 1023",
	"f sys/devices/pci/nvme0/nvme0n1/queue/max_sectors_kb 128",
	"f sys/devices/pci/nvme0/nvme0n1/queue/optimal_io_size 4096",
	"d sys/devices/pci/nvme0/nvme0n1/nvme0n1p2",
	"f sys/devices/pci/nvme0/nvme0n1/nvme0n1p2/partition 2",
	"f sys/devices/pci/nvme0/nvme0n1/nvme0n1p2/dev 259:2",
	"l sys/dev/block/259:2 ../../devices/pci/nvme0/nvme0n1/nvme0n1p2",
	"d sys/devices/nvme1n1",
	"f sys/devices/nvme1n1/dev 259:7",
	"l sys/dev/block/259:7 ../../devices/nvme1n1",
	"d sys/devices/ata",
	"l sys/devices/ata/driver ../../bus/sd",
	"d sys/devices/ata/sda",
	"f sys/devices/ata/sda/dev 8:0",
	"l sys/devices/ata/sda/device ../../ata",
	"d sys/devices/ata/sda/slaves",
	"d sys/devices/ata/sda/queue",
	"f sys/devices/ata/sda/queue/rotational 1",
	"d sys/devices/ata/sda/sda1",
	"f sys/devices/ata/sda/sda1/partition 1",
	"d sys/devices/ata/sda/sda2",
	"f sys/devices/ata/sda/sda2/partition 2",
	"l sys/dev/block/8:2 ../../devices/ata/sda/sda2",
	"d sys/devices/ata/sdb",
	"f sys/devices/ata/sdb/dev 8:16",
	"l sys/devices/ata/sdb/device ../../ata",
	"d sys/devices/ata/sdb/queue",
	"f sys/devices/ata/sdb/queue/rotational 1",
	"l sys/dev/block/8:16 ../../devices/ata/sdb",
	"d sys/devices/ata/sdc",
	"f sys/devices/ata/sdc/dev 8:32",
	"l sys/devices/ata/sdc/device ../../ata",
	"d sys/devices/ata/sdc/queue",
	"f sys/devices/ata/sdc/queue/rotational 0",
	"l sys/dev/block/8:32 ../../devices/ata/sdc",
	"d sys/devices/md127",
	"f sys/devices/md127/dev 9:127",
	"d sys/devices/md127/slaves",
	"l sys/devices/md127/slaves/sda1 ../../ata/sda/sda1",
	"l sys/devices/md127/slaves/sda2 ../../ata/sda/sda2",
	"l sys/devices/md127/slaves/sdb ../../ata/sdb",
	"d sys/devices/dm-3",
	"f sys/devices/dm-3/dev 253:3",
	"d sys/devices/dm-3/slaves",
	"l sys/devices/dm-3/slaves/md127 ../../md127",
	"l sys/dev/block/253:3 ../../devices/dm-3",
	"d sys/devices/virtio",
	"l sys/devices/virtio/driver ../../bus/virtio_blk",
	"d sys/devices/virtio/vda",
	"f sys/devices/virtio/vda/dev 254:0",
	"l sys/devices/virtio/vda/device ../../virtio",
	"d sys/devices/virtio/vda/queue",
	"f sys/devices/virtio/vda/queue/rotational 1",
	"l sys/dev/block/254:0 ../../devices/virtio/vda",
	"d sys/devices/loop7",
	"f sys/devices/loop7/dev 7:7",
	"d sys/devices/loop7/queue",
	"f sys/devices/loop7/queue/rotational 1",
	"d sys/devices/loop7/slaves",
	"d sys/devices/loop7/loop",
	"f sys/devices/loop7/loop/backing_file /in/memory",
	"l sys/dev/block/7:7 ../../devices/loop7",
	"d sys/devices/loop8",
	"f sys/devices/loop8/dev 7:8",
	"d sys/devices/loop8/loop",
	"f sys/devices/loop8/loop/backing_file /on/dm",
	"l sys/dev/block/7:8 ../../devices/loop8",
	"d sys/devices/loop9",
	"f sys/devices/loop9/dev 7:9",
	"d sys/devices/loop9/loop",
	"f sys/devices/loop9/loop/backing_file /on/loop9",
	"l sys/dev/block/7:9 ../../devices/loop9",
	"d sys/devices/dm-9",
	"f sys/devices/dm-9/dev 253:9",
	"d sys/devices/dm-9/slaves",
	"l sys/devices/dm-9/slaves/self ../../dm-9",
	"l sys/dev/block/253:9 ../../devices/dm-9",
	"d sys/fs",
	"d sys/fs/btrfs",
	"d sys/fs/btrfs/features",
	"d sys/fs/btrfs/1f2e",
	"d sys/fs/btrfs/1f2e/devices",
	"l sys/fs/btrfs/1f2e/devices/sdc ../../../../devices/ata/sdc",
	"l sys/fs/btrfs/1f2e/devices/vda ../../../../devices/virtio/vda",
	"l sys/fs/btrfs/1f2e/devices/nvme0n1p2 ../../../../devices/pci/nvme0/nvme0n1/nvme0n1p2",
};

enum { TREE = sizeof(tree) / sizeof(tree[0]) };

/* Devices and mounts of that machine; the root is where the tree is. */
static const char mounts[] = "10 1 259:2 / /nvme rw - xfs /dev/nvme0n1p2 rw\n"
			     "11 1 253:3 / /raid rw - ext4 /dev/mapper/raid rw\n"
			     "12 1 8:32 / /ssd rw - ext4 /dev/sdc rw\n"
			     "13 1 8:16 / /disk rw - ext4 /dev/sdb rw\n"
			     "14 1 254:0 / /vm rw - ext4 /dev/vda rw\n"
			     "15 1 7:7 / /loop7 rw - ext4 /dev/loop7 rw\n"
			     "16 1 7:8 / /loop8 rw - ext4 /dev/loop8 rw\n"
			     "17 1 7:9 / /loop9 rw - ext4 /dev/loop9 rw\n"
			     "18 1 0:40 / /btrfs rw - btrfs /dev/vda rw\n"
			     "19 1 0:41 / /tmp rw - tmpfs tmpfs rw\n"
			     "20 1 0:42 / /nas rw - nfs4 server:/export rw\n"
			     "21 1 0:43 / /over rw - overlay overlay rw\n"
			     "22 1 253:9 / /self rw - ext4 /dev/dm-9 rw\n"
			     "23 1 259:7 / /paths rw - ext4 /dev/nvme1n1 rw\n"
			     "24 1 1:1 / /gone rw - ext4 /dev/gone rw\n"
			     "25 1 8:2 / /old rw - ext4 /dev/sda2 rw\n";

static void make_node(int root, const char *node)
{
	char path[128], content[128] = "";
	int fd;

	assert_true(sscanf(node + 2, "%127s %127s", path, content) >= 1);
	if (node[0] == 'd') {
		assert_int_equal(mkdirat(root, path, 0700), 0);
	} else if (node[0] == 'l') {
		assert_int_equal(symlinkat(content, root, path), 0);
	} else {
		fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
		close(fd);
	}
}

static void remove_node(int root, const char *node)
{
	char path[128];

	assert_int_equal(sscanf(node + 2, "%127s", path), 1);
	assert_int_equal(unlinkat(root, path, node[0] == 'd' ? AT_REMOVEDIR : 0), 0);
}

static char root[] = "device.XXXXXX", sys_root[32], mountinfo[32];

static int make_tree(void **state)
{
	int fd = mkdtemp(root) ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < TREE; i++)
		make_node(fd, tree[i]);
	close(fd);
	(void)snprintf(sys_root, sizeof(sys_root), "%s/sys", root);
	(void)snprintf(mountinfo, sizeof(mountinfo), "%s/mounts", root);
	f = fopen(mountinfo, "w");
	assert_non_null(f);
	assert_int_equal(fputs(mounts, f) >= 0, 1);
	assert_int_equal(fclose(f), 0);
	return 0;
}

static int remove_tree(void **state)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (size_t i = TREE; i-- > 0;)
		remove_node(fd, tree[i]);
	close(fd);
	assert_int_equal(unlink(mountinfo), 0);
	assert_int_equal(rmdir(root), 0);
	return 0;
}

/* ---- that machine ---- */

static uint32_t seek_us; /* what the probe finds */
static unsigned probes;

static dev_t device_at(const char *path)
{
	return strcmp(path, "/dev/vda") == 0 ? makedev(254, 0) : 0;
}

static bool look_at(const char *path, dev_t *ret_dev, uint64_t *ret_mount_id)
{
	*ret_mount_id = 0;
	*ret_dev = strcmp(path, "/on/dm") == 0      ? makedev(253, 3)
		   : strcmp(path, "/on/loop9") == 0 ? makedev(7, 9)
						    : makedev(0, 41);
	return true;
}

static uint32_t probe(int fd, dev_t disk)
{
	assert_int_equal(fd, 42);
	assert_int_equal(major(disk), 8);
	probes++;
	return seek_us;
}

static uint64_t clock_s = 1000;

static uint64_t now_ns(void)
{
	return clock_s * 1000000000;
}

static const struct device_world machine = { .sys_root = sys_root,
					     .mountinfo = mountinfo,
					     .device_at = device_at,
					     .look_at = look_at,
					     .probe = probe,
					     .now_ns = now_ns };

static struct device_facts facts_at(struct device_book *book, unsigned major, unsigned minor)
{
	struct device_facts d;

	device_facts_in(&machine, book, 42, makedev(major, minor), 0, &d);
	return d;
}

static void assert_text(unsigned major, unsigned minor, const char *expected)
{
	struct device_facts d = facts_at(NULL, major, minor);
	char text[DEVICE_TEXT_MAX];

	assert_string_equal(device_text(&d, text, sizeof(text)), expected);
}

static void kinds_are_what_driver_and_file_system_tell(void **state)
{
	(void)state;
	assert_text(259, 2, "xfs on nvme: NVMe, queue of 1023 requests up to 128 KiB");
	assert_text(259, 7, "ext4 on nvme: NVMe");
	assert_text(8, 32, "ext4 on sd: SSD");
	assert_text(254, 0, "ext4 on virtio_blk: unknown (says it rotates, but that is no real disk's driver)");
	assert_text(7, 7, "ext4 on loop: unknown (says it rotates, but that is no real disk's driver)");
	assert_text(0, 41, "tmpfs: memory");
	assert_text(0, 42, "nfs4: network");
	assert_text(0, 43, "overlay: unknown (no disk of it is known)");
	assert_text(253, 9, "ext4 on dm over dm: unknown (no real disk's driver)");
	assert_text(7, 9, "ext4 on loop over loop: unknown (no real disk's driver)");
	assert_text(1, 1, "ext4: unknown (no disk of it is known)");
	assert_text(2, 2, "unknown file system: unknown (no disk of it is known)");
}

static void all_disks_below_are_found(void **state)
{
	struct device_facts raid = facts_at(NULL, 253, 3), loop = facts_at(NULL, 7, 8), btrfs = facts_at(NULL, 0, 40);
	struct device_facts old = facts_at(NULL, 8, 2), ssd = facts_at(NULL, 8, 32), vm = facts_at(NULL, 254, 0);
	struct device_facts nvme = facts_at(NULL, 259, 2);

	(void)state;
	assert_int_equal(raid.disk_count, 2); /* two partitions of one disk are one disk */
	assert_string_equal(raid.through, "dm");
	assert_string_equal(raid.driver, "sd");
	assert_int_equal(loop.disk_count, 2); /* those of the file behind it */
	assert_string_equal(loop.through, "loop");
	assert_int_equal(btrfs.disk_count, 3);
	assert_int_equal(btrfs.kind, DEVICE_UNKNOWN);
	assert_int_equal(btrfs.reason, DEVICE_MIXED);
	assert_true(device_facts_same(&raid, &loop));
	assert_true(device_facts_same(&raid, &old));
	assert_true(device_facts_same(&btrfs, &ssd));
	assert_true(device_facts_same(&btrfs, &vm));
	assert_true(device_facts_same(&btrfs, &nvme));
	assert_false(device_facts_same(&raid, &ssd));
	assert_int_equal(nvme.queue_requests, 1023);
	assert_int_equal(nvme.max_request_bytes, 128 * 1024);
	assert_int_equal(nvme.optimal_bytes, 4096);
}

static void rotational_needs_a_probe_that_confirms(void **state)
{
	struct device_facts d = facts_at(NULL, 8, 16);
	struct device_book book;
	char text[DEVICE_TEXT_MAX];

	(void)state;
	assert_int_equal(d.kind, DEVICE_UNKNOWN);
	assert_string_equal(device_text(&d, text, sizeof(text)),
			    "ext4 on sd: unknown (says it rotates; not confirmed, nothing could be probed)");
	device_book_open(&book);
	probes = seek_us = 0;
	d = facts_at(&book, 8, 16);
	assert_int_equal(d.kind, DEVICE_UNKNOWN);
	seek_us = 9140;
	clock_s += 59; /* what came to nothing is not tried at once again */
	d = facts_at(&book, 8, 16);
	assert_int_equal(d.kind, DEVICE_UNKNOWN);
	assert_int_equal(probes, 1);
	clock_s++;
	d = facts_at(&book, 8, 16);
	assert_int_equal(d.kind, DEVICE_ROTATIONAL);
	assert_string_equal(device_text(&d, text, sizeof(text)), "ext4 on sd: rotational (confirmed: 9.1 ms a seek)");
	assert_int_equal(probes, 2);
	seek_us = 100; /* known already, and the spindle under RAID and loop decides for the whole */
	d = facts_at(&book, 8, 16);
	assert_int_equal(d.kind, DEVICE_ROTATIONAL);
	assert_int_equal(probes, 2);
	d = facts_at(&book, 8, 2);
	assert_int_equal(d.reason, DEVICE_REFUTED);
	assert_string_equal(device_text(&d, text, sizeof(text)),
			    "ext4 on sd: unknown (says it rotates, but a seek takes 0.1 ms)");
	d = facts_at(&book, 7, 8);
	assert_int_equal(probes, 3);
	device_book_close(&book);
	device_book_open(&book);
	seek_us = 5000;
	d = facts_at(&book, 7, 8);
	assert_int_equal(d.kind, DEVICE_ROTATIONAL);
	assert_string_equal(device_text(&d, text, sizeof(text)),
			    "ext4 on loop over 2 disks of sd: rotational (confirmed: 5.0 ms a seek)");
	(void)facts_at(&book, 254, 0); /* a virtual disk is not probed: asserted in probe() */
	device_book_close(&book);
}

/* A disk that is slow to answer: its probe ends when it is told to. */
static sem_t probe_began, probe_may_end;
static atomic_uint slow_probes;

static uint32_t slow_probe(int fd, dev_t disk)
{
	(void)fd;
	if (disk != makedev(8, 16))
		return 9000;
	atomic_fetch_add(&slow_probes, 1);
	(void)sem_post(&probe_began);
	(void)sem_wait(&probe_may_end);
	return 8000;
}

static void *look_at_slow_disk(void *book)
{
	struct device_world slow = machine;
	struct device_facts d;

	slow.probe = slow_probe;
	device_facts_in(&slow, book, 42, makedev(8, 16), 0, &d);
	return d.kind == DEVICE_ROTATIONAL && d.seek_us == 8000 ? book : NULL;
}

static void a_probe_holds_up_its_own_disk_alone(void **state)
{
	struct device_world slow = machine;
	struct device_book book;
	struct device_facts d;
	pthread_t first, second;
	void *first_found, *second_found;

	(void)state;
	slow.probe = slow_probe;
	assert_int_equal(sem_init(&probe_began, 0, 0) | sem_init(&probe_may_end, 0, 0), 0);
	device_book_open(&book);
	assert_int_equal(pthread_create(&first, NULL, look_at_slow_disk, &book), 0);
	(void)sem_wait(&probe_began);
	assert_int_equal(pthread_create(&second, NULL, look_at_slow_disk, &book), 0);
	device_facts_in(&slow, &book, 42, makedev(8, 2), 0, &d);
	assert_int_equal(d.seek_us, 9000);
	(void)sem_post(&probe_may_end);
	assert_int_equal(pthread_join(first, &first_found) | pthread_join(second, &second_found), 0);
	assert_non_null(first_found);
	assert_non_null(second_found);
	assert_int_equal(atomic_load(&slow_probes), 1);
	device_book_close(&book);
	(void)sem_destroy(&probe_began);
	(void)sem_destroy(&probe_may_end);
}

static void the_user_knows_better(void **state)
{
	struct device_facts d = facts_at(NULL, 254, 0);
	char text[DEVICE_TEXT_MAX];

	(void)state;
	device_facts_set_kind(&d, DEVICE_UNKNOWN);
	assert_int_equal(d.reason, DEVICE_NO_REAL_DISK);
	device_facts_set_kind(&d, DEVICE_ROTATIONAL);
	assert_string_equal(device_text(&d, text, sizeof(text)), "ext4 on virtio_blk: rotational (as asked)");
}

static void several_sources_are_as_slow_as_the_slowest(void **state)
{
	struct device_facts d = facts_at(NULL, 259, 2), ssd = facts_at(NULL, 8, 32), nas = facts_at(NULL, 0, 42);

	(void)state;
	device_facts_merge(&d, &d);
	assert_int_equal(d.disk_count, 1);
	device_facts_merge(&d, &ssd);
	assert_int_equal(d.kind, DEVICE_SSD);
	assert_int_equal(d.disk_count, 2);
	device_facts_merge(&d, &nas);
	assert_int_equal(d.kind, DEVICE_NETWORK);
	assert_true(device_facts_same(&d, &ssd));
}

static void an_id_is_one_of_the_disks(void **state)
{
	static const uint8_t none[DISK_ID_BYTES];
	struct device_facts a = facts_at(NULL, 8, 32), b = facts_at(NULL, 8, 16), tmp = facts_at(NULL, 0, 41);
	uint8_t first[DISK_ID_BYTES], again[DISK_ID_BYTES], other[DISK_ID_BYTES], memory[DISK_ID_BYTES];

	(void)state;
	device_facts_id(&a, first);
	device_facts_id(&a, again);
	device_facts_id(&b, other);
	device_facts_id(&tmp, memory);
	assert_memory_equal(first, again, sizeof(first));
	assert_memory_equal(memory, none, sizeof(memory));
	if (access("/proc/sys/kernel/random/boot_id", R_OK))
		skip_because("no boot id here");
	assert_memory_not_equal(first, other, sizeof(first));
}

static void this_machine_is_told(void **state)
{
	int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct device_facts here, shm;
	char text[DEVICE_TEXT_MAX];
	struct device_book book;
	struct stat sb;

	(void)state;
	device_book_open(&book);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_code(device_facts_of(&book, fd, &here), HAUL_OK);
	close(fd);
	assert_int_equal(here.dev, sb.st_dev);
	assert_true(here.file_system[0] != '\0');
	print_message("here: %s\n", device_text(&here, text, sizeof(text)));
	assert_code(device_facts_of(&book, -1, &here), HAUL_IO);
	device_book_close(&book);
	fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		skip_because("no /dev/shm");
	assert_code(device_facts_of(NULL, fd, &shm), HAUL_OK);
	close(fd);
	if (strcmp(shm.file_system, "tmpfs") != 0)
		skip_because("/dev/shm is no tmpfs");
	assert_string_equal(device_text(&shm, text, sizeof(text)), "tmpfs: memory");
	assert_string_equal(device_text(&shm, text, 6), "tmpfs");
}

static void another_source_is_added(void **state)
{
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct device_facts sum = { .dev = 0 }, of_proc;

	(void)state;
	device_facts_add(NULL, -1, &sum);
	assert_int_equal(sum.dev, 0);
	device_facts_add(NULL, proc, &sum);
	assert_code(device_facts_of(NULL, proc, &of_proc), HAUL_OK);
	assert_string_equal(sum.file_system, of_proc.file_system);
	assert_int_equal(sum.dev, of_proc.dev);
	sum.kind = DEVICE_NVME; /* the same again is not looked at */
	device_facts_add(NULL, proc, &sum);
	assert_int_equal(sum.kind, DEVICE_NVME);
	device_facts_add(NULL, here, &sum); /* another one is */
	assert_true(sum.kind != DEVICE_NVME || sum.disk_count > 0);
	close(here);
	close(proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mount_lines),
		cmocka_unit_test(kinds_are_what_driver_and_file_system_tell),
		cmocka_unit_test(all_disks_below_are_found),
		cmocka_unit_test(rotational_needs_a_probe_that_confirms),
		cmocka_unit_test(a_probe_holds_up_its_own_disk_alone),
		cmocka_unit_test(the_user_knows_better),
		cmocka_unit_test(several_sources_are_as_slow_as_the_slowest),
		cmocka_unit_test(an_id_is_one_of_the_disks),
		cmocka_unit_test(this_machine_is_told),
		cmocka_unit_test(another_source_is_added),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
