#!/bin/sh
# One command from a fresh Debian or Ubuntu machine to a running demo or a passed test suite:
#   sh packaging/setup.sh demo        a virtual environment in .venv, then `mince demo`
#   sh packaging/setup.sh test        the same with the test tools, then the whole test suite
#   sh packaging/setup.sh             the environment alone
# Further words go to mince demo or to pytest. System libraries are installed with apt where they are missing.
set -eu
cd "$(dirname "$0")/.."
what=${1:-none}
[ $# -gt 0 ] && shift

need=""
has() { ldconfig -p 2>/dev/null | grep -q "$1"; }
# Qt's own libraries come with PySide6; these belong to the system, and only the window needs them.
if [ "$what" != demo ]; then
    has libEGL.so.1 || need="$need libegl1"
    has libGL.so.1 || need="$need libgl1"
    has libxkbcommon.so.0 || need="$need libxkbcommon0"
    has libdbus-1.so.3 || need="$need libdbus-1-3"
    has libfontconfig.so.1 || need="$need libfontconfig1 fonts-dejavu-core"
    has libglib-2.0.so.0 || need="$need libglib2.0-0"
fi

python=""
for name in python3.12 python3.11 python3; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$name
        break
    fi
done
[ -n "$python" ] || need="$need python3"
venv=python3-venv
case $python in python3.*) venv=$python-venv ;; esac
[ -n "$python" ] && "$python" -c 'import ensurepip' 2>/dev/null || need="$need $venv"

if [ -n "$need" ]; then
    as_root=""
    [ "$(id -u)" = 0 ] || as_root=sudo
    echo "installing system packages:$need"
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need
    [ -n "$python" ] || python=python3
fi

[ -x .venv/bin/python ] || "$python" -m venv .venv
case $what in
test)
    .venv/bin/pip install --quiet --editable '.[test]'
    exec .venv/bin/pytest "$@"
    ;;
demo)
    .venv/bin/pip install --quiet .
    exec .venv/bin/mince demo "$@"
    ;;
none)
    .venv/bin/pip install --quiet .
    echo "ready: .venv/bin/mince and .venv/bin/mince-gui"
    ;;
*)
    echo "usage: sh packaging/setup.sh [demo|test] [more words]" >&2
    exit 2
    ;;
esac
