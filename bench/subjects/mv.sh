# mv on this machine.
command_text='mv victim dst/'

subject_move() { mv "$victim" "$dst/"; }
subject_version() { mv --version | head -n 1; }
