# GridFTP in plain text, four streams for each of two files at once, pipelined; both ends as an ordinary user.
command_text='globus-url-copy -fast -p 4 -cc 2 -pp -r -cd file:src/ ftp://host/dst/'

subject_install() {
	need globus-gass-copy-progs globus-url-copy && need globus-gridftp-server-progs globus-gridftp-server
}
subject_start() {
	mkdir -m 0777 "$state/home"
	start_service gridftp setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$state/home" \
		globus-gridftp-server -no-fork -aa -p "$port" -control-interface "$host" -data-interface "$host" \
		-auth-level 0 -log-level error
	wait_for 100 is_listening "$port"
}
subject_copy() {
	"${client[@]}" setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$state/home" \
		globus-url-copy -fast -p 4 -cc 2 -pp -r -cd "file://$src/" "ftp://$host:$port$dst/"
}
subject_version() { package_version globus-gridftp-server-progs; }
