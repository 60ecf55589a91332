# cp -a on this machine, no network.
command_text='cp -a src/. dst/'

subject_copy() { cp -a "$src/." "$dst/"; }
subject_version() { cp --version | head -n 1; }
