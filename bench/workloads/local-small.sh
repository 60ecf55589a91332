# 20,000 files of 14,400 bytes copied on this machine, on one disk.
subjects='haul-local cp cp-r'
action=copy
input=small
reference=haul-local
