# haul move on this machine.
command_text='haul move -q victim dst/'
. "$harness/haul.bash"

subject_install() {
	mkdir -p "$state/probe" && : >"$state/probe/file"
	haul_knows move -q "$state/probe/file" "$state/probe/moved"
}
subject_move() { haul_measured move -q "$victim" "$dst/"; }
subject_memory() { haul_memory; }
subject_version() { haul_version; }
