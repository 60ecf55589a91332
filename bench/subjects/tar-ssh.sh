# tar through an sshd of its own.
command_text='tar -cf - -C src . | ssh -c aes128-gcm@openssh.com host tar -xpf - -C dst'
. "$harness/ssh.bash"

subject_install() { need openssh-server sshd && need openssh-client ssh; }
subject_start() { ssh_start; }
subject_copy() {
	ssh_words
	tar -cf - -C "$src" . | "${client[@]}" ssh "${ssh_options[@]}" -p "$port" "$host" "tar -xpf - -C '$dst'"
}
subject_version() { echo "$(tar --version | head -n 1), $(ssh_version)"; }
