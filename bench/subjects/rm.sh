# rm on this machine.
command_text='rm -rf victim'

subject_remove() { rm -rf "$victim"; }
subject_version() { rm --version | head -n 1; }
