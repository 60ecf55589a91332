# One file of 3,200,000,000 bytes copied on this machine, on one disk.
subjects='limit limit-phased limit-buffered haul-local cp cp-r'
action=copy
input=big
reference=haul-local
