# rsync over an sshd of its own.
command_text='rsync -a --whole-file -e "ssh -c aes128-gcm@openssh.com" src/ host:dst/'
. "$harness/ssh.bash"

subject_install() { need openssh-server sshd && need openssh-client ssh && need rsync rsync; }
subject_start() { ssh_start; }
rsync_over_ssh() {
	ssh_words
	"${client[@]}" rsync "$@" -e "ssh ${ssh_options[*]} -p $port" "$src/" "$host:$dst/"
}
subject_copy() { rsync_over_ssh -a --whole-file; }
# It says what differs and ends with 0 either way; so anything said but a directory's time is a difference.
subject_verify() {
	rsync_over_ssh -anci >"$state/differences" && ! grep -q '^[<>c][fL]' "$state/differences"
}
subject_version() { echo "$(rsync --version | head -n 1), $(ssh_version)"; }
