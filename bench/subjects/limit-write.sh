# The destination's device alone: direct writes, as many bytes as the source has.
command_text='haul_limit -m write src/FILE dst/FILE'
. "$harness/limit.bash"

subject_copy() { limit_copy write; }
subject_version() { limit_version; }
