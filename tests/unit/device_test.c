/* What a path lies on: lines of mountinfo, trees like sysfs, and the machine at hand. */
#include "engine/device.h"

#include "engine/block_device.h"
#include "engine/disk_file.h"
#include "engine/mountinfo.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
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
					   "1 2 3:4 / / rw - " };
	char with_options[] =
	    "36 35 98:1 /a /b\\040c rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n";
	char without[] = "7 1 0:52 / / rw - fuse.sshfs me@host:/x rw\n";
	struct mount_line m;

	(void)state;
	assert_true(mount_line_parse(with_options, &m));
	assert_int_equal(m.id, 36);
	assert_int_equal(m.major, 98);
	assert_int_equal(m.minor, 1);
	assert_string_equal(m.file_system, "ext3");
	assert_string_equal(m.source, "/dev/root");
	assert_true(mount_line_parse(without, &m));
	assert_int_equal(m.minor, 52);
	assert_string_equal(m.file_system, "fuse.sshfs");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "%s", bad[i]);
		assert_false(mount_line_parse(line, &m));
	}
}

/* One tree like sysfs: an NVMe partition, RAID over a partition of a SATA disk under device mapper, a loop device. */
static const char *const tree[] = {
	"d bus",
	"d bus/nvme",
	"d bus/sd",
	"d dev",
	"d dev/block",
	"d devices",
	"d devices/pci",
	"l devices/pci/driver ../../bus/nvme",
	"d devices/pci/nvme0",
	"l devices/pci/nvme0/device ../../pci",
	"d devices/pci/nvme0/nvme0n1",
	"l devices/pci/nvme0/nvme0n1/device ../../nvme0",
	"d devices/pci/nvme0/nvme0n1/queue",
	"f devices/pci/nvme0/nvme0n1/queue/rotational 0",
	"d devices/pci/nvme0/nvme0n1/nvme0n1p2",
	"f devices/pci/nvme0/nvme0n1/nvme0n1p2/partition 2",
	"l dev/block/259:2 ../../devices/pci/nvme0/nvme0n1/nvme0n1p2",
	"d devices/ata",
	"l devices/ata/driver ../../bus/sd",
	"d devices/ata/sda",
	"l devices/ata/sda/device ../../ata",
	"d devices/ata/sda/slaves",
	"d devices/ata/sda/queue",
	"f devices/ata/sda/queue/rotational 1",
	"d devices/ata/sda/sda1",
	"f devices/ata/sda/sda1/partition 1",
	"d devices/md127",
	"d devices/md127/slaves",
	"l devices/md127/slaves/sda1 ../../ata/sda/sda1",
	"d devices/dm-3",
	"d devices/dm-3/slaves",
	"l devices/dm-3/slaves/md127 ../../md127",
	"l dev/block/253:3 ../../devices/dm-3",
	"d devices/loop7",
	"d devices/loop7/queue",
	"f devices/loop7/queue/rotational 1",
	"d devices/loop7/slaves",
	"l dev/block/7:7 ../../devices/loop7",
	"d devices/dm-9",
	"d devices/dm-9/slaves",
	"l devices/dm-9/slaves/self ../../dm-9",
	"l dev/block/253:9 ../../devices/dm-9",
};

enum { TREE = sizeof(tree) / sizeof(tree[0]) };

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

static void assert_device(const char *root, unsigned major, unsigned minor, const char *driver, bool says_rotational)
{
	char found[32];
	bool says = !says_rotational;

	block_device_look(root, makedev(major, minor), found, sizeof(found), &says);
	assert_string_equal(found, driver);
	assert_int_equal(says, says_rotational);
}

static void block_devices(void **state)
{
	char root[] = "device.XXXXXX";
	int fd;

	(void)state;
	assert_non_null(mkdtemp(root));
	fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < TREE; i++)
		make_node(fd, tree[i]);
	assert_device(root, 259, 2, "nvme", false);
	assert_device(root, 253, 3, "sd", true);
	assert_device(root, 7, 7, "loop", true);
	assert_device(root, 253, 9, "dm", false); /* its own member: ends all the same */
	assert_device(root, 1, 1, "", false);
	assert_device("nowhere", 259, 2, "", false);
	for (size_t i = TREE; i-- > 0;)
		remove_node(fd, tree[i]);
	close(fd);
	assert_int_equal(rmdir(root), 0);
}

static void this_machine(void **state)
{
	struct device_facts here, shm;
	int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat sb;
	char text[128];

	(void)state;
	assert_int_equal(fstat(fd, &sb), 0);
	assert_code(device_facts_of(fd, &here), HAUL_OK);
	close(fd);
	assert_int_equal(here.dev, sb.st_dev);
	assert_true(here.file_system[0] != '\0');
	print_message("here: %s\n", device_text(&here, NULL, text, sizeof(text)));
	assert_code(device_facts_of(-1, &here), HAUL_IO);
	fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		skip_because("no /dev/shm");
	assert_code(device_facts_of(fd, &shm), HAUL_OK);
	close(fd);
	if (strcmp(shm.file_system, "tmpfs") != 0)
		skip_because("/dev/shm is no tmpfs");
	assert_true(shm.is_memory);
	assert_false(shm.is_network || shm.is_rotational_hint);
	assert_string_equal(device_text(&shm, NULL, text, sizeof(text)), "tmpfs on memory");
}

static void texts_and_defaults(void **state)
{
	struct device_facts d = { .driver = "sd", .file_system = "xfs", .is_rotational_hint = true };
	struct disk_file f = { .fd = -1 };
	unsigned depth;
	size_t bytes;
	char text[128];

	(void)state;
	assert_string_equal(device_text(&d, &f, text, sizeof(text)), "xfs on sd (rotating), direct");
	device_defaults(&d, &depth, &bytes);
	assert_int_equal(depth, 4);
	assert_int_equal(bytes, 8 << 20);
	d = (struct device_facts){ .file_system = "nfs4", .is_network = true };
	assert_string_equal(device_text(&d, NULL, text, sizeof(text)), "nfs4 on network");
	device_defaults(&d, &depth, &bytes);
	assert_int_equal(depth, 8);
	assert_int_equal(bytes, 4 << 20);
	d = (struct device_facts){ .dev = 1 };
	assert_string_equal(device_text(&d, NULL, text, 20), "unknown file system");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mount_lines),
		cmocka_unit_test(block_devices),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(texts_and_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
