"""C libraries that are loaded in front of libc (LD_PRELOAD) to make disks and clocks misbehave; built when a
test runs.
"""
