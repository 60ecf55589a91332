# haul move on this machine.
command_text='haul move -q victim dst/'
. "$harness/haul.bash"

subject_move() { haul_measured move -q "$victim" "$dst/"; }
subject_memory() { haul_memory; }
subject_version() { haul_version; }
