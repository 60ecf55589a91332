# haul to an agent of its own: encrypted, every block verified on arrival, durable.
command_text='haul copy -q src/ nas:bench'
. "$harness/haul.bash"

subject_start() { haul_start; }
# shellcheck disable=SC2086 # words on purpose
subject_copy() { haul_at_client copy -q ${BENCH_HAUL_OPTIONS:-} "$src/" nas:bench; }
subject_verify() { haul_at_client verify -q "$src/" nas:bench; }
subject_version() { haul_version; }
