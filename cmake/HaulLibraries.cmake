# The libraries we stand on, as imported targets.
find_package(Threads REQUIRED)
