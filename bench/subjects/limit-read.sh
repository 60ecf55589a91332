# The source's device alone: direct reads, nothing written.
command_text='haul_limit -m read src/FILE -'
. "$harness/limit.bash"

subject_copy() { limit_copy read; }
subject_version() { limit_version; }
