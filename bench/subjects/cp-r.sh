# cp -r on this machine: contents and modes, no times or owners.
command_text='cp -r src/. dst/'

subject_copy() { cp -r "$src/." "$dst/"; }
subject_version() { cp --version | head -n 1; }
