# haul to an agent of its own: encrypted, every block verified on arrival, durable.
command_text='haul copy -q src/ nas:bench'
. "$harness/haul.bash"

subject_start() { haul_start; }
# shellcheck disable=SC2086 # words on purpose
subject_copy() { haul_measured copy -q ${BENCH_HAUL_OPTIONS:-} "$src/" nas:bench; }
subject_verify() { haul_measured verify -q "$src/" nas:bench; }
subject_memory() { haul_memory; }
subject_version() { haul_version; }
