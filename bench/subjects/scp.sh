# scp to an sshd of its own.
command_text='scp -q -r -p -c aes128-gcm@openssh.com src/. host:dst/'
. "$harness/ssh.bash"

subject_install() { need openssh-server sshd && need openssh-client scp; }
subject_start() { ssh_start; }
subject_copy() {
	ssh_words
	"${client[@]}" scp -q -r -p "${ssh_options[@]}" -P "$port" "$src/." "$host:$dst/"
}
subject_version() { ssh_version; }
