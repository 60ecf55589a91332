# What reading and writing one file at once gives, direct, 16 blocks of 4 MiB; no network, hash or cipher.
command_text='haul_limit -m mixed src/FILE dst/FILE'
. "$harness/limit.bash"

subject_copy() { limit_copy mixed; }
subject_version() { limit_version; }
