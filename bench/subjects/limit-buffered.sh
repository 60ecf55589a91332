# The same through the page cache.
command_text='haul_limit -m buffered src/FILE dst/FILE'
. "$harness/limit.bash"

subject_copy() { limit_copy buffered; }
subject_version() { limit_version; }
