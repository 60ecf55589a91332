# Which folder may see what: the table of docs/ARCHITECTURE.md as forbidden includes.
set(sockets sys/socket.h sys/un.h netinet/ arpa/ netdb.h net/ linux/if.h)
set(mbedtls mbedtls/ psa/)
set(rings liburing.h liburing/)
set(msgpack msgpack.h msgpack/)
set(uv uv.h uv/)
set(others sqlite3.h ini.h pcre2.h)
set(libraries ${mbedtls} ${rings} ${msgpack} ${uv} ${others} openssl/ xxhash.h xxh3.h)
set(folders engine/ peer-protocol/ certs/ agent/ cli/ tests/)

haul_forbid_includes(engine/base ${libraries} ${sockets} ${folders} !engine/base/)
haul_forbid_includes(engine EXCEPT engine/base -- ${mbedtls} ${msgpack} ${uv} ${others} openssl/ ${sockets}
                     ${folders} !engine/)
# Sans-I/O: no descriptors, sockets, clocks, random or threads either.
haul_forbid_includes(peer-protocol ${libraries} !msgpack.h !msgpack/ ${sockets} ${folders} !engine/base/
                     !peer-protocol/ unistd.h fcntl.h sys/ poll.h time.h signal.h pthread.h threads.h stdatomic.h
                     dirent.h)
haul_forbid_includes(certs EXCEPT certs/gcm_alt.c -- ${rings} ${msgpack} ${uv} ${others} openssl/ xxhash.h xxh3.h
                     ${sockets} mbedtls/net_sockets.h ${folders} !engine/base/ !certs/)
haul_forbid_includes(agent ${rings} ${msgpack} openssl/ xxhash.h xxh3.h cli/ tests/)
haul_forbid_includes(cli ${libraries} ${sockets} ${folders} !engine/base/ !agent/ !cli/)
