# Read by the lints. sources ROOT [FOLDER…]: the C and C++ files of ours below ROOT, relative to it;
# without a folder, all. Found on disk, not asked of git: a fresh machine need not have it.
sources() (
  cd "$1" && shift
  [ $# -gt 0 ] || set -- base run cgroup dbus daemon init cli examples tests
  for folder in "$@"; do
    [ ! -d "$folder" ] || find "$folder" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \)
  done | sort
)
