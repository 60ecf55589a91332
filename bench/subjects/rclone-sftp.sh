# rclone over SFTP to an sshd of its own, four files at once (its default), checksums not compared.
# To compare them it starts a program at the far end for each file, which takes a quarter of a second.
command_text='rclone copy --sftp-disable-hashcheck src :sftp:dst'
. "$harness/ssh.bash"

subject_install() { need openssh-server sshd && need rclone rclone; }
subject_start() { ssh_start; }
subject_copy() {
	"${client[@]}" rclone copy --config /dev/null --cache-dir "$state/cache" --sftp-disable-hashcheck \
		--sftp-host "$host" --sftp-port "$port" --sftp-user "$(id -un)" --sftp-key-file "$state/ssh/user" \
		--sftp-known-hosts-file "$state/ssh/known" "$src" ":sftp:$dst"
}
subject_version() { rclone version 2>/dev/null | head -n 1; }
