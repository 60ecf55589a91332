# haul with both ends on this machine, no network.
command_text='haul copy -q src/ dst/'
. "$harness/haul.bash"

# shellcheck disable=SC2086 # words on purpose
subject_copy() { haul_measured copy -q ${BENCH_HAUL_OPTIONS:-} "$src/" "$dst/"; }
subject_verify() { haul_measured verify -q "$src/" "$dst/"; }
subject_memory() { haul_memory; }
subject_version() { haul_version; }
