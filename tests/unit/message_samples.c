/* The samples as C values. Their bytes are in message_golden.inc, which was not made by the encoder.
 */
#include "message_samples.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T(literal)                                                                                                     \
	{                                                                                                              \
		(literal), sizeof(literal) - 1                                                                         \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct capability capabilities[] = { { T("zeros"), false }, { T("packs"), true } };
static const struct message hello = {
	.type = MSG_HELLO,
	.hello = { .version_min = 1,
		   .version_max = 2,
		   .tree_version = 1,
		   .digest_algorithms = 2,
		   .digest_bytes = 16,
		   .block_min = 1 << 20,
		   .block_max = 16 << 20,
		   .cores = 8,
		   .lanes_max = 16,
		   .software = T("haul 0.1.0"),
		   .your_name = T("edit1"),
		   .capabilities = capabilities,
		   .capability_count = COUNT(capabilities) },
};
static const struct message hello_minimal = {
	.type = MSG_HELLO,
	.hello = { .version_min = 1,
		   .version_max = 1,
		   .tree_version = 1,
		   .digest_algorithms = 2,
		   .digest_bytes = 16,
		   .block_min = 1 << 20,
		   .block_max = 1 << 20,
		   .cores = 1,
		   .lanes_max = 1 },
};

static const struct text lookup_paths[] = { T("day1/Footage"), T("") };
static const struct message lookup = {
	.type = MSG_LOOKUP,
	.lookup = { .share = T("inbox"), .paths = lookup_paths, .path_count = COUNT(lookup_paths) },
};
static const struct text top_path[] = { T("") };
static const struct message lookup_minimal = {
	.type = MSG_LOOKUP,
	.lookup = { .share = T("a"), .paths = top_path, .path_count = 1 },
};

static const struct found founds[] = {
	{ .state = FOUND_THERE,
	  .kind = ENTRY_LINK,
	  .target_kind = ENTRY_DIRECTORY,
	  .size = 0,
	  .mtime = { -1, 999999999 } },
	{ .state = FOUND_THERE, .kind = ENTRY_FILE, .size = UINT64_C(1) << 40, .mtime = { 1700000000, 5 } },
};
static const struct message found = {
	.type = MSG_FOUND,
	.found = { .rights = 31, .free_bytes = 1000000, .found = founds, .found_count = COUNT(founds) },
};
static const struct found missing[] = { { .state = FOUND_MISSING } };
static const struct message found_minimal = { .type = MSG_FOUND, .found = { .found = missing, .found_count = 1 } };

static const struct message list = {
	.type = MSG_LIST,
	.list = { .share = T("inbox"), .path = T("day1"), .after = T("clip0007.mov") },
};
static const struct message list_minimal = { .type = MSG_LIST };
static const struct message list_partials = {
	.type = MSG_LIST,
	.list = { .share = T("inbox"), .wants_partials = true },
};

static const struct listing_entry listed[] = {
	{ .name = T("A"), .kind = ENTRY_DIRECTORY, .mode = 0755, .mtime = { 1700000000, 0 } },
	{ .name = T("b"), .kind = ENTRY_FILE, .mode = 0644, .size = 300, .mtime = { 1700000001, 1 } },
};
static const struct message listing = {
	.type = MSG_LISTING,
	.listing = { .entries = listed, .entry_count = COUNT(listed), .has_more = true },
};
static const struct listing_share shares[] = {
	{ .name = T("inbox"), .rights = 5, .free_bytes = 70000, .total_bytes = 5000000000 },
};
static const struct message listing_shares = {
	.type = MSG_LISTING,
	.listing = { .shares = shares, .share_count = COUNT(shares) },
};
static const struct listing_partial partials[] = {
	{ .id = T("00112233445566778899aabbccddeeff"),
	  .path = T("day1/clip.mov"),
	  .size = 400000000,
	  .there_bytes = 204472320,
	  .touched_s = 1700000000,
	  .is_yours = true },
};
static const struct message listing_partials = {
	.type = MSG_LISTING,
	.listing = { .partials = partials, .partial_count = COUNT(partials) },
};
static const struct message listing_minimal = { .type = MSG_LISTING };

static const struct job_source sources[] = {
	{ .path = T("day1/Footage"), .landing = T("Footage") },
	{ .path = T("latest"), .landing = T(""), .follow = true },
};
static const struct message job = {
	.type = MSG_JOB,
	.job = { .job_id = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
		 .verb = JOB_VERIFY,
		 .direction = JOB_PULL,
		 .flags = 63,
		 .share = T("projects"),
		 .sources = sources,
		 .source_count = COUNT(sources),
		 .lanes = 4,
		 .block_bytes = 4 << 20,
		 .modify_window_ns = 2000000000,
		 .device = DEVICE_NVME,
		 .server_device = DEVICE_ROTATIONAL,
		 .disk_id = { 0xd1, [15] = 0x1d },
		 .fixed = JOB_FIXED_LANES | JOB_FIXED_BLOCK,
		 .more_lanes = 12 },
};
static const struct message job_minimal = {
	.type = MSG_JOB,
	.job = { .verb = JOB_COPY, .direction = JOB_PUSH, .share = T("a"), .lanes = 1, .block_bytes = 1 << 20 },
};

static const struct message job_probe = {
	.type = MSG_JOB,
	.job = { .verb = JOB_PROBE,
		 .direction = JOB_PUSH,
		 .flags = JOB_TO_DISK,
		 .share = T("inbox"),
		 .lanes = 2,
		 .block_bytes = 4 << 20,
		 .probe_bytes = 1 << 30 },
};

static const struct message job_sync = {
	.type = MSG_JOB,
	.job = { .verb = JOB_COPY,
		 .direction = JOB_PUSH,
		 .share = T("a"),
		 .lanes = 1,
		 .block_bytes = 1 << 20,
		 .delete_rule = DELETE_PERCENT,
		 .delete_most = 20,
		 .deletes_at_root = true },
};

static const struct message accept = {
	.type = MSG_ACCEPT,
	.accept = { .session_id = { 0xff, [31] = 0x01 },
		    .lanes = 4,
		    .block_bytes = 4 << 20,
		    .root_exists = true,
		    .device = DEVICE_ROTATIONAL,
		    .disk_id = { 0xd2, [15] = 0x2d },
		    .more_lanes = 12,
		    .source_fs = { 0xd3, [15] = 0x3d } },
};
static const struct message busy = { .type = MSG_BUSY, .busy = { .place = 3 } };

static const struct text offered[] = { T("inbox"), T("projects") };
static const struct message error = {
	.type = MSG_ERROR,
	.error = { .code = HAUL_CODE_NO_RIGHT,
		   .text = T("right missing"),
		   .path = T("day1"),
		   .share = T("inbox"),
		   .your_name = T("edit1"),
		   .missing_right = 8,
		   .held_rights = 7,
		   .need_bytes = 300,
		   .free_bytes = 70000,
		   .offered = offered,
		   .offered_count = COUNT(offered) },
};
static const struct message error_minimal = { .type = MSG_ERROR, .error = { .code = HAUL_CODE_BUG } };

static const struct message lane_hello = {
	.type = MSG_LANE_HELLO,
	.lane_hello = { .session_id = { 0xff, [31] = 0x01 }, .lane = 15, .epoch = 256 },
};
static const struct message lane_ok = { .type = MSG_LANE_OK, .lane_ok = { .lane = 15, .epoch = 256 } };
static const struct message credit = { .type = MSG_CREDIT, .credit = { .records = 4096, .bytes = 1 << 20 } };

static const struct owner_name owners_list[] = {
	{ .index = 0, .number = 1000, .name = T("ann") },
	{ .index = 1, .is_group = true, .number = 100, .name = T("") },
};
static const struct message owners = {
	.type = MSG_OWNERS,
	.owners = { .owners = owners_list, .owner_count = COUNT(owners_list) },
};

static const struct extra_digest extra[] = { { .algorithm = 3, .bytes = T("\x01\x02") } };
static const struct attribute attribute_list[] = { { "user.k", 6, "v\0", 2 } };
static const struct manifest_record records[] = {
	{ .type = RECORD_ENTRY,
	  .entry = { .index = 0,
		     .parent = HAUL_NO_INDEX,
		     .name = T("d"),
		     .kind = ENTRY_DIRECTORY,
		     .mtime = { 1700000000, 0 },
		     .mode = 0755,
		     .owner = UINT32_MAX,
		     .group = UINT32_MAX,
		     .link_to = HAUL_NO_INDEX } },
	{ .type = RECORD_ENTRY,
	  .entry = { .index = 1,
		     .parent = 0,
		     .name = T("f\xff"),
		     .kind = ENTRY_FILE,
		     .size = 1048577,
		     .mtime = { -5, 7 },
		     .mode = 04755,
		     .owner = 0,
		     .group = 1,
		     .link_to = 0,
		     .attributes = attribute_list,
		     .attribute_count = COUNT(attribute_list),
		     .flags = 7,
		     .attempt = 2,
		     .source_id = { 0xaa, [15] = 0xbb },
		     .root = { { 0xcc, [15] = 0xdd } },
		     .extra = extra,
		     .extra_count = COUNT(extra) } },
	{ .type = RECORD_ENTRY,
	  .entry = { .index = 2,
		     .parent = 0,
		     .name = T("l"),
		     .kind = ENTRY_LINK,
		     .mode = 0777,
		     .owner = UINT32_MAX,
		     .group = UINT32_MAX,
		     .link_to = HAUL_NO_INDEX,
		     .link_target = T("../x") } },
	{ .type = RECORD_DIR_END, .dir_end = { .directory = 0, .count = 2, .is_complete = true } },
	{ .type = RECORD_DIR_END,
	  .dir_end = { .directory = HAUL_NO_INDEX, .count = 1, .error = HAUL_CODE_DENIED, .is_partial = true } },
};
static const struct message manifest = {
	.type = MSG_MANIFEST,
	.manifest = { .records = records, .record_count = COUNT(records) },
};
static const struct manifest_record problems[] = {
	{ .type = RECORD_PROBLEM,
	  .problem = { .directory = HAUL_NO_INDEX, .name = T("m"), .code = HAUL_CODE_LINK_DANGLES } },
};
static const struct message manifest_problem = {
	.type = MSG_MANIFEST,
	.manifest = { .records = problems, .record_count = COUNT(problems) },
};
static const struct message manifest_end = {
	.type = MSG_MANIFEST_END,
	.manifest_end = { .entries = 3, .bytes = 1048577 },
};

static const struct leaf_range ranges[] = { { 0, 1 }, { 1, 2 }, { 700, 1 } };
static const struct want wants[] = {
	{ .entry = 0, .kind = WANT_NOTHING },
	{ .entry = 1, .attempt = 2, .kind = WANT_RANGES, .ranges = ranges, .range_count = COUNT(ranges) },
	{ .entry = 2, .kind = WANT_CLONE, .clone_path = T("a/b"), .clone_source_id = { 1, [15] = 2 } },
};
static const struct message want = { .type = MSG_WANT, .want = { .wants = wants, .want_count = COUNT(wants) } };

static const struct haul_digest digests[] = { { { 1 } }, { { [15] = 2 } } };
static const struct message basis = {
	.type = MSG_BASIS,
	.digests = { .entry = 1, .first_leaf = 0, .digests = digests, .digest_count = 2 },
};
static const struct message have = {
	.type = MSG_HAVE,
	.digests = { .entry = 1, .first_leaf = 1000, .digests = digests, .digest_count = 1 },
};

static const struct ack acks[] = {
	{ .entry = 1, .attempt = 2, .level = ACK_RECEIVED, .first_leaf = 0, .leaf_count = 1 },
	{ .entry = 1, .attempt = 2, .level = ACK_DURABLE, .first_leaf = 4, .leaf_count = 300 },
};
static const struct message ack = { .type = MSG_ACK, .ack = { .acks = acks, .ack_count = COUNT(acks) } };

static const struct entry_failure failures[] = { { .entry = 1, .attempt = 2, .code = HAUL_CODE_CHANGED } };
static const struct message failed = {
	.type = MSG_FAILED,
	.failed = { .failures = failures, .failure_count = COUNT(failures) },
};

static const uint64_t put_offs[] = { 1, 300 };
static const struct message put_off = {
	.type = MSG_PUT_OFF,
	.put_off = { .entries = put_offs, .entry_count = COUNT(put_offs) },
};

static const struct changed_entry changes[] = {
	{ .entry = 1,
	  .attempt = 1000,
	  .size = 1048577,
	  .mtime = { .sec = 1700000001, .nsec = 5 },
	  .mode = 0640,
	  .flags = ENTRY_HAS_SOURCE_ID,
	  .source_id = { 0xaa, [15] = 0xbb } },
	{ .entry = 300, .attempt = 2000 },
};
static const struct message changed = {
	.type = MSG_CHANGED,
	.changed = { .entries = changes, .entry_count = COUNT(changes) },
};

static const struct entry_result results[] = {
	{ .entry = 0, .outcome = OUTCOME_UNCHANGED },
	{ .entry = 1,
	  .attempt = 2,
	  .outcome = OUTCOME_PROVEN,
	  .code = HAUL_CODE_UNSUPPORTED,
	  .changes = 3,
	  .flags = 7,
	  .offset = 5,
	  .root = { { 0xcc, [15] = 0xdd } },
	  .detail = T("user.x"),
	  .lost = 5 },
	{ .entry = HAUL_NO_INDEX, .outcome = OUTCOME_FAILED, .changes = CHANGE_SURPLUS, .detail = T("d/old") },
};
static const struct message result = {
	.type = MSG_RESULT,
	.result = { .results = results, .result_count = COUNT(results) },
};

static const struct message job_end = {
	.type = MSG_JOB_END,
	.job_end = { .entries = 3,
		     .files = 1,
		     .bytes = 1048577,
		     .proven = 2,
		     .unchanged = 1,
		     .failed = 0,
		     .root = { { 0xee, [15] = 0x11 } },
		     .is_durable = true,
		     .times = { .wall_ms = 4000,
				.compute_ms = 1500,
				.digest_ms = 120,
				.cpu_ms = 1400,
				.ready_ms = 30,
				.wait_work_ms = 7,
				.wait_disk_ms = 1200,
				.wait_files_ms = 90,
				.wait_peer_ms = 1300,
				.wait_rate_ms = 0,
				.disk_busy_ms = 2500,
				.disk_no_input_ms = 900,
				.disk_no_room_ms = 600,
				.files_busy_ms = 110,
				.sync_ms = 250,
				.process_cpu_ms = 70000 },
		     .lack = { .need_bytes = 2000000000, .free_bytes = 500000000, .quota_bytes = 900000000 },
		     .delete_refusal = DELETE_TOO_MANY_HERE,
		     .surplus = 1204,
		     .there = 3000,
		     .deleted = 12,
		     .deleted_files = 11 },
};
static const struct message done = { .type = MSG_DONE };
static const struct message cancel = { .type = MSG_CANCEL, .cancel = { .code = HAUL_CODE_INTERRUPTED } };
static const struct message alive = { .type = MSG_ALIVE };
static const struct message alive_lanes = { .type = MSG_ALIVE, .alive.lanes = 0x8001 };
static const struct message lane_lost = { .type = MSG_LANE_LOST, .lane_lost = { .lane = 3, .epoch = 256 } };
static const struct message note = { .type = MSG_NOTE, .note = { .text = T("xfs on sd") } };

static const uint64_t looked_at[] = { 0, 1, 300 };
static const struct message look = {
	.type = MSG_LOOK,
	.look = { .token = { 0xa1, [15] = 0x1a }, .entries = looked_at, .entry_count = COUNT(looked_at) },
};
static const uint32_t looked_codes[] = { 0, HAUL_CODE_CHANGED, 0 };
static const struct message looked = {
	.type = MSG_LOOKED,
	.looked = { .codes = looked_codes, .code_count = COUNT(looked_codes) },
};
static const struct moved_kept kept[] = { { .entry = 1, .code = HAUL_CODE_CHANGED, .text = T("gone") } };
static const struct message moved = {
	.type = MSG_MOVED,
	.moved = { .kept = kept, .kept_count = COUNT(kept), .files = 2, .entries = 3, .bytes = 1048577, .leaves = 9 },
};
static const struct message moved_minimal = { .type = MSG_MOVED };
static const struct choice_rule rules[] = {
	{ .group = 0, .action = CHOICE_EXCLUDE, .pattern = T("*.tmp") },
	{ .group = 300, .action = CHOICE_ONLY, .pattern = T("/a\xff/**") },
};
static const struct text listed_paths[] = { T("Footage/a.mov"), T("b") };
static const struct message choice = {
	.type = MSG_CHOICE,
	.choice = { .rules = rules,
		    .rule_count = COUNT(rules),
		    .paths = listed_paths,
		    .path_count = COUNT(listed_paths),
		    .flags = CHOICE_FLAGS_ALL,
		    .size_min = 1,
		    .size_max = 300,
		    .oldest = { -1, 999999999 },
		    .newest = { 1700000000, 5 } },
};
static const struct message choice_minimal = { .type = MSG_CHOICE };
static const struct message left = {
	.type = MSG_LEFT,
	.left = { .entries = 300, .files = 2, .matched = T("\x03\x80") },
};
static const struct message left_minimal = { .type = MSG_LEFT };
static const struct message job_move = {
	.type = MSG_JOB,
	.job = { .verb = JOB_COPY,
		 .direction = JOB_PUSH,
		 .flags = JOB_CHECKSUM | JOB_MOVE | JOB_NO_REPLACE,
		 .share = T("inbox"),
		 .root = T("day1"),
		 .lanes = 2,
		 .block_bytes = 4 << 20 },
};

const struct message_sample message_samples[] = {
#include "message_golden.inc"
};
const size_t message_sample_count = COUNT(message_samples);

size_t bytes_of_hex(const char *hex, uint8_t *ret_bytes, size_t cap)
{
	size_t len = strlen(hex) / 2;

	assert(len <= cap);
	for (size_t i = 0; i < len; i++) {
		unsigned byte = 0;
		int read = sscanf(hex + 2 * i, "%2x", &byte);

		assert(read == 1);
		ret_bytes[i] = (uint8_t)byte;
	}
	return len;
}

void hex_of_bytes(const uint8_t *bytes, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[2 * len] = 0;
}

/* The page without white space; it lasts as long as the test. */
static char *protocol_page(void)
{
	FILE *f = fopen(HAUL_PROTOCOL_MD, "r");
	char *page = malloc(1 << 20);
	size_t len = 0;
	int c;

	assert(f && page);
	while ((c = fgetc(f)) != EOF && len < (1 << 20) - 1) {
		if (c != ' ' && c != '\n')
			page[len++] = (char)c;
	}
	page[len] = 0;
	(void)fclose(f);
	return page;
}

bool is_documented(const char *hex)
{
	char *page = protocol_page();
	bool is_there = strstr(page, hex) != NULL;

	free(page);
	return is_there;
}
