# diff -r on this machine: every byte of both sides read and compared.
command_text='diff -rq src dst'

subject_verify() { diff -rq "$src" "$dst"; }
subject_version() { diff --version | head -n 1; }
