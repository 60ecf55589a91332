# haul remove on this machine.
command_text='haul remove -q --yes victim'
. "$harness/haul.bash"

subject_remove() { haul_measured remove -q --yes "$victim"; }
subject_memory() { haul_memory; }
subject_version() { haul_version; }
