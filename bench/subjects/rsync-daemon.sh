# rsync to a daemon of its own, in plain text.
command_text='rsync -a --whole-file src/ rsync://host/dst/'

subject_install() { need rsync rsync; }
subject_start() {
	cat >"$state/rsyncd.conf" <<-CONFIG
		use chroot = no
		uid = $(id -u)
		gid = $(id -g)
		[dst]
		path = $dst
		read only = no
	CONFIG
	start_service rsyncd rsync --daemon --no-detach "--address=$host" "--port=$port" "--config=$state/rsyncd.conf"
	wait_for 100 is_listening "$port"
}
subject_copy() { "${client[@]}" rsync -a --whole-file "$src/" "rsync://$host:$port/dst/"; }
subject_version() { rsync --version | head -n 1; }
