# haul from an agent of its own: the same as haul, fetched instead of sent.
command_text='haul copy -q nas:source/ dst/'
. "$harness/haul.bash"

subject_start() { haul_start; }
# shellcheck disable=SC2086 # words on purpose
subject_copy() { haul_measured copy -q ${BENCH_HAUL_OPTIONS:-} nas:source/ "$dst/"; }
subject_verify() { haul_measured verify -q nas:source/ "$dst/"; }
subject_memory() { haul_memory; }
subject_version() { haul_version; }
