# An sshd of the subject's own, with keys of its own; nothing of the machine's or the user's configuration is read.
# The cipher is the one that haul's TLS uses; OpenSSH's own first choice is slower where there are AES instructions.

ssh_start() {
	mkdir -m 0700 "$state/ssh"
	mkdir -p /run/sshd # sshd insists on it
	ssh-keygen -q -t ed25519 -N '' -f "$state/ssh/host"
	ssh-keygen -q -t ed25519 -N '' -f "$state/ssh/user"
	cp "$state/ssh/user.pub" "$state/ssh/authorized"
	cat >"$state/ssh/config" <<-CONFIG
		ListenAddress $host
		Port $port
		HostKey $state/ssh/host
		AuthorizedKeysFile $state/ssh/authorized
		PidFile none
		StrictModes no
		UsePAM no
		PermitRootLogin yes
		PasswordAuthentication no
		Subsystem sftp internal-sftp
	CONFIG
	echo "[$host]:$port $(cut -d ' ' -f 1,2 "$state/ssh/host.pub")" >"$state/ssh/known"
	start_service sshd /usr/sbin/sshd -D -f "$state/ssh/config"
	ssh_words
	wait_for 100 "${client[@]}" ssh "${ssh_options[@]}" -p "$port" "$host" true
}

# ssh_options, for ssh and scp alike
ssh_words() {
	ssh_options=(-q -F /dev/null -i "$state/ssh/user" -c "aes128-gcm@openssh.com" -o StrictHostKeyChecking=yes
		-o "UserKnownHostsFile=$state/ssh/known" -o IdentitiesOnly=yes -o Compression=no)
}

ssh_version() { ssh -V 2>&1; }
