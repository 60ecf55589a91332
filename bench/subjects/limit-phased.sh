# The same in turns: 64 MiB read, then written.
command_text='haul_limit -m phased src/FILE dst/FILE'
. "$harness/limit.bash"

subject_copy() { limit_copy phased; }
subject_version() { limit_version; }
