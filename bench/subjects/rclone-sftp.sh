# rclone over SFTP to an sshd of its own, four files at once (its default).
command_text='rclone copy src :sftp:dst'
. "$harness/ssh.bash"

subject_install() { need openssh-server sshd && need rclone rclone; }
subject_start() { ssh_start; }
subject_copy() {
	"${client[@]}" rclone copy --config /dev/null --cache-dir "$state/cache" --sftp-host "$host" --sftp-port "$port" \
		--sftp-user "$(id -un)" --sftp-key-file "$state/ssh/user" --sftp-known-hosts-file "$state/ssh/known" \
		"$src" ":sftp:$dst"
}
subject_version() { rclone version 2>/dev/null | head -n 1; }
