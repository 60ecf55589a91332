/* Values first, then places; both only look at text, nothing is opened. */
#include "cli/copy_request.h"

#include "cli/device_option.h"
#include "cli/filter_options.h"
#include "cli/print.h"
#include "cli/sizes.h"

#include "engine/base/checked.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

enum {
	CONNECT_TIMEOUT_MS = 10 * 1000,
	TIMEOUT_MS = 300 * 1000,
	LANES_MAX = 16,                  /* as docs/PROTOCOL.md bounds JOB */
	MODIFY_WINDOW_MAX_S = 24 * 3600, /* the same */
};

static haul_status bad_value(struct problem *problem, const char *option, const char *value, const char *wanted)
{
	char escaped[HAUL_ESCAPED_MAX / 8];

	return problem_usage(problem, NULL, "%s=%s: %s", option,
			     haul_escape(value, strlen(value), escaped, sizeof(escaped)), wanted);
}

static haul_status wait_option(const struct invocation *inv, enum option_id id, const char *name, uint32_t *ret_ms,
			       struct problem *problem)
{
	const char *value = invocation_value(inv, id);

	if (!value)
		return HAUL_OK;
	if (haul_failed(wait_parse(value, ret_ms)) || !*ret_ms)
		return bad_value(problem, name, value, "a time is 10 (seconds), 500ms, 5m or 1h");
	return HAUL_OK;
}

haul_status copy_request_connect_timeout(const struct invocation *inv, uint32_t *ret_ms, struct problem *problem)
{
	haul_status st;

	*ret_ms = CONNECT_TIMEOUT_MS;
	st = wait_option(inv, OPT_CONNECT_TIMEOUT, "--connect-timeout", ret_ms, problem);
	if (haul_failed(st))
		invocation_blame(inv, problem);
	return st;
}

static haul_status block_option(const struct invocation *inv, uint32_t *ret_bytes, struct problem *problem)
{
	const char *value = invocation_value(inv, OPT_BLOCK);
	uint64_t bytes;

	if (!value)
		return HAUL_OK;
	if (haul_failed(size_parse(value, &bytes)) || bytes < HAUL_LEAF_BYTES || bytes & (bytes - 1) ||
	    bytes / HAUL_LEAF_BYTES > HAUL_BLOCK_LEAVES_MAX)
		return bad_value(problem, "--block", value, "a block is 1M, 2M, 4M, 8M or 16M");
	*ret_bytes = (uint32_t)bytes;
	return HAUL_OK;
}

static haul_status number_options(const struct invocation *inv, struct transfer_request *t, struct problem *problem)
{
	const char *lanes = invocation_value(inv, OPT_LANES);
	const char *rate = invocation_value(inv, OPT_BWLIMIT);
	const char *window = invocation_value(inv, OPT_MODIFY_WINDOW);
	uint64_t number = 0;
	haul_status st;

	if (lanes && haul_failed(number_parse(lanes, 1, LANES_MAX, &number)))
		return bad_value(problem, "--lanes", lanes, "from 1 to 16");
	t->lanes = (unsigned)number;
	if (rate && haul_failed(rate_parse(rate, &t->bandwidth_bytes_per_s)))
		return bad_value(problem, "--bwlimit", rate, "a rate is 10M, 2.5M, 12MB or 5000 (KiB)");
	if (window &&
	    (haul_failed(seconds_parse(window, &t->modify_window_s)) || t->modify_window_s > MODIFY_WINDOW_MAX_S))
		return bad_value(problem, "--modify-window", window, "a number of seconds, at most 86400");
	st = block_option(inv, &t->block_bytes, problem);
	if (haul_ok(st))
		st = wait_option(inv, OPT_TIMEOUT, "--timeout", &t->timeout_ms, problem);
	if (haul_ok(st))
		st = copy_request_connect_timeout(inv, &t->connect_timeout_ms, problem);
	return st;
}

/* Blocks of every lane have to fit into memory at once: said before anything begins, if both were asked for. */
static haul_status fitting(const struct transfer_request *t, struct problem *problem)
{
	uint32_t most = t->block_bytes;

	if (!t->lanes || !t->block_bytes || transfer_fits(t->lanes, t->block_bytes))
		return HAUL_OK;
	while (!transfer_fits(t->lanes, most))
		most /= 2;
	return problem_usage(problem, NULL, "--block=%uM: with --lanes=%u it may be 1M to %uM", t->block_bytes >> 20,
			     t->lanes, most >> 20);
}

static haul_status device_choice(const struct invocation *inv, struct transfer_request *t, struct problem *problem)
{
	const char *value = invocation_value(inv, OPT_DEVICE);

	if (value && haul_failed(device_option_parse(value, &t->source_device, &t->destination_device)))
		return bad_value(problem, "--device", value, DEVICE_OPTION_WANTED);
	return HAUL_OK;
}

static enum transfer_direct direct_of(const char *word)
{
	if (word && !strcmp(word, "always"))
		return TRANSFER_DIRECT_ALWAYS;
	return word && !strcmp(word, "never") ? TRANSFER_DIRECT_NEVER : TRANSFER_DIRECT_AUTO;
}

haul_status copy_request_engine(const char **ret_backend, struct problem *problem)
{
	const char *engine = getenv("HAUL_ENGINE");

	if (!engine || !*engine || !strcmp(engine, "auto"))
		return HAUL_OK;
	if (strcmp(engine, "ring") && strcmp(engine, "threads"))
		return bad_value(problem, "HAUL_ENGINE", engine, "it takes auto, ring or threads");
	*ret_backend = engine;
	return HAUL_OK;
}

static haul_status as_option(const struct invocation *inv, const struct copy_request *r, struct problem *problem)
{
	const char *name = invocation_value(inv, OPT_AS);
	char source[HAUL_FAULT_TEXT_MAX / 4];

	if (!name)
		return HAUL_OK;
	if (haul_failed(haul_component_check(name, strlen(name))))
		return bad_value(problem, "--as", name, "it takes one name, without a slash");
	if (r->transfer.source_count > 1)
		return problem_usage(problem, "Copy them one by one", "--as names a single SRC, here are %zu",
				     r->transfer.source_count);
	if (r->places[0].has_slash)
		return problem_usage(problem, "Write SRC without the slash at its end",
				     "--as names what lands, but %s lands as its contents",
				     shell_word(r->places[0].text, source, sizeof(source)));
	return HAUL_OK;
}

haul_status copy_request_tuning(const struct invocation *inv, struct transfer_request *t, struct problem *problem)
{
	haul_status st;

	t->direct = direct_of(invocation_value(inv, OPT_DIRECT));
	t->trace = invocation_value(inv, OPT_TRACE);
	t->timeout_ms = TIMEOUT_MS;
	st = copy_request_engine(&t->backend, problem);
	if (haul_ok(st))
		st = number_options(inv, t, problem);
	if (haul_failed(st))
		invocation_blame(inv, problem);
	return st;
}

/* --max-delete=N, N% or none. */
static haul_status deletion_option(const struct invocation *inv, struct transfer_request *t, struct problem *problem)
{
	const char *value = invocation_value(inv, OPT_MAX_DELETE);
	size_t len = value ? strlen(value) : 0;
	char digits[24];
	bool is_percent = len && value[len - 1] == '%';

	if (inv->verb->verb != VERB_SYNC)
		return HAUL_OK;
	t->nest = invocation_has(inv, OPT_NEST);
	t->new_source = invocation_has(inv, OPT_NEW_SOURCE);
	t->deletion = TRANSFER_DELETE_USUAL;
	if (!value)
		return HAUL_OK;
	t->deletion = is_percent ? TRANSFER_DELETE_PERCENT : TRANSFER_DELETE_COUNT;
	if (!strcmp(value, "none"))
		t->deletion = TRANSFER_DELETE_ANY;
	else if (snprintf(digits, sizeof(digits), "%.*s", (int)(len - is_percent), value) >= (int)sizeof(digits) ||
		 haul_failed(number_parse(digits, 0, is_percent ? 100 : INT64_MAX, &t->delete_most)))
		return bad_value(problem, "--max-delete", value, "a number of entries, a percentage like 20%, or none");
	return HAUL_OK;
}

/* Whatever else is asked for: what goes has been compared by its content. */
static haul_status move_options(const struct invocation *inv, struct transfer_request *t, struct problem *problem)
{
	const char *rule = invocation_value(inv, OPT_ON_CONFLICT);

	if (inv->verb->verb != VERB_MOVE)
		return HAUL_OK;
	if (rule && !strcmp(rule, "number"))
		return problem_usage(problem, "Leave it out, or use --on-conflict=replace",
				     "--on-conflict=number between machines is not in this version");
	t->is_move = t->checksum = true;
	t->no_replace = !rule || strcmp(rule, "replace") != 0;
	t->proof = TRANSFER_PROOF_TRANSFER;
	return HAUL_OK;
}

static haul_status fill(struct copy_request *r, const struct invocation *inv, struct problem *problem)
{
	struct transfer_request *t = &r->transfer;
	haul_status st;

	t->verb = inv->verb->verb == VERB_VERIFY ? TRANSFER_VERIFY : TRANSFER_COPY;
	t->as_name = invocation_value(inv, OPT_AS);
	t->dry_run = invocation_has(inv, OPT_DRY_RUN);
	t->checksum = invocation_has(inv, OPT_CHECKSUM);
	t->size_only = invocation_has(inv, OPT_SIZE_ONLY);
	t->ignore_times = invocation_has(inv, OPT_IGNORE_TIMES);
	if (t->checksum + t->size_only + t->ignore_times > 1)
		return problem_usage(problem, "Give one of them",
				     "-c, --size-only and --ignore-times contradict each other");
	t->update = invocation_has(inv, OPT_UPDATE);
	t->existing = invocation_has(inv, OPT_EXISTING);
	t->ignore_existing = invocation_has(inv, OPT_IGNORE_EXISTING);
	t->follow_links = invocation_has(inv, OPT_FOLLOW);
	t->exact = invocation_has(inv, OPT_EXACT);
	t->no_sync = invocation_has(inv, OPT_NO_SYNC);
	t->restart = invocation_has(inv, OPT_RESTART);
	t->no_owners = invocation_has(inv, OPT_NO_OWNER);
	t->numeric_ids = invocation_has(inv, OPT_NUMERIC_IDS);
	t->sparse = invocation_has(inv, OPT_SPARSE);
	t->in_place = invocation_has(inv, OPT_INPLACE);
	t->no_attributes = invocation_has(inv, OPT_NO_XATTRS);
	t->proof = invocation_value(inv, OPT_PROOF) ? TRANSFER_PROOF_TRANSFER : TRANSFER_PROOF_ANY;
	t->want_entries = t->dry_run || t->verb == TRANSFER_VERIFY || invocation_has(inv, OPT_VERBOSE) ||
			  invocation_has(inv, OPT_ITEMIZE) || invocation_has(inv, OPT_JSON);
	t->want_explain = invocation_has(inv, OPT_EXPLAIN);
	st = copy_request_tuning(inv, t, problem);
	if (haul_ok(st))
		st = move_options(inv, t, problem);
	if (haul_ok(st))
		st = device_choice(inv, t, problem);
	if (haul_ok(st))
		st = fitting(t, problem);
	if (haul_ok(st))
		st = deletion_option(inv, t, problem);
	if (haul_failed(st))
		invocation_blame(inv, problem);
	return st;
}

static bool is_same_peer(const struct place_spec *a, const struct place_spec *b)
{
	if (!a->is_remote || !b->is_remote)
		return a->is_remote == b->is_remote;
	if (!a->peer != !b->peer)
		return false;
	return a->peer ? !strcmp(a->peer, b->peer) : !strcmp(a->host, b->host) && a->port == b->port;
}

static haul_status check_shares(const struct copy_request *r, struct problem *problem)
{
	for (size_t i = 0; i < r->place_count; i++)
		if (r->places[i].is_remote && !r->places[i].share)
			return problem_usage(problem, "haul list shows the shares of a peer",
					     "%s names no share: write %sSHARE", r->places[i].text, r->places[i].text);
	return HAUL_OK;
}

static haul_status check_places(const struct copy_request *r, struct problem *problem)
{
	const struct place_spec *sources = r->places, *destination = r->transfer.destination;
	char one[HAUL_FAULT_TEXT_MAX / 4], other[HAUL_FAULT_TEXT_MAX / 4];
	haul_status st = check_shares(r, problem);

	if (haul_failed(st))
		return st;
	shell_word(sources[0].text, one, sizeof(one));
	for (size_t i = 1; i < r->transfer.source_count; i++)
		if (!is_same_peer(&sources[0], &sources[i]))
			return problem_usage(problem, "Copy them one by one",
					     "all SRC are local or on one peer: %s and %s are not", one,
					     shell_word(sources[i].text, other, sizeof(other)));
	if (sources[0].is_remote && destination->is_remote)
		return problem_usage(problem, "Run haul on one of the two machines",
				     "%s and %s are both remote: one side is this machine", one,
				     shell_word(destination->text, other, sizeof(other)));
	return HAUL_OK;
}

static haul_status parse_places(struct copy_request *r, const struct invocation *inv, struct problem *problem)
{
	struct haul_fault fault;

	for (size_t i = 0; i < inv->operand_count; i++) {
		if (haul_failed(place_spec_parse(inv->operands[i], &r->places[i], &fault)))
			return problem_from_fault(problem, &fault);
		r->place_count++;
	}
	r->transfer.sources = r->places;
	r->transfer.source_count = r->place_count - 1;
	r->transfer.destination = &r->places[r->place_count - 1];
	return check_places(r, problem);
}

haul_status copy_request_open(struct copy_request *ret, const struct invocation *inv, struct problem *problem)
{
	struct copy_request r = { 0 };
	haul_status st = fill(&r, inv, problem);

	if (haul_failed(st))
		return st;
	r.places = calloc(inv->operand_count, sizeof(*r.places));
	if (!r.places)
		return problem_no_memory(problem);
	st = parse_places(&r, inv, problem);
	if (haul_ok(st))
		st = as_option(inv, &r, problem);
	if (haul_ok(st))
		st = filter_options_read(inv, &r.choice, problem);
	if (haul_failed(st)) {
		copy_request_close(&r);
		return st;
	}
	*ret = r;
	ret->transfer.choice = choice_spec_is_empty(&r.choice) ? NULL : &ret->choice;
	return HAUL_OK;
}

void copy_request_close(struct copy_request *r)
{
	for (size_t i = 0; i < r->place_count; i++)
		place_spec_close(&r->places[i]);
	free(r->places);
	choice_spec_close(&r->choice);
	*r = (struct copy_request){ 0 };
}
