#!/usr/bin/env bash
# Makes .venv from requirements/dev.lock and installs the project into it, compiled where a compiler exists.
# Run by `make setup`, which calls it only when one of its inputs changed. Safe to run again at any time.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }

find_python() {
    local name
    for name in "${PYTHON:-}" python3.11 python3 python3.12 python3.13; do
        if [ -n "$name" ] && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
}

is_present() {
    local kind="${1%%:*}" what="${1#*:}"
    case "$kind" in
        command) command -v "$what" >/dev/null ;;
        file) [ -e "$what" ] ;;
        module) [ -n "$python" ] && "$python" -c "import $what" 2>/dev/null ;;
        header) [ -n "$python" ] && "$python" -c "import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path('include'), '$what')))" ;;
    esac
}

install_debian_packages() {
    local package probe _ missing=()
    while read -r package probe _; do
        case "$package" in ''|'#'*) continue ;; esac
        is_present "$probe" || missing+=("$package")
    done < tools/debian-packages.txt
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "missing Debian packages, going on without them: ${missing[*]}"
        return
    fi
    say "installing Debian packages: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null \
        || say "apt-get could not install them; going on without"
}

python="$(find_python)"
install_debian_packages
python="$(find_python)"
if [ -z "$python" ]; then
    say "Python 3.11 or newer is needed (set PYTHON=… to name one)" >&2
    exit 1
fi

# The pages, beside: they need nothing of Python where the machine has a node. Where it has none, or where this
# fails, `make setup` builds them afterwards and says why.
tools/build_frontend.sh --own-node &
pages=$!
trap 'kill "$pages" 2>/dev/null || true' EXIT

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
if ! .venv/bin/uv --version >/dev/null 2>&1; then
    say "installing uv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        "$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements/dev.lock)"
fi

say "installing requirements/dev.lock"
export VIRTUAL_ENV="$PWD/.venv"
.venv/bin/uv pip sync --quiet --require-hashes --compile-bytecode requirements/dev.lock
say "installing the project (editable)"
.venv/bin/uv pip install --quiet --no-deps --no-build-isolation --editable .

for source in $(find engine spark -name '*_cy.py'); do
    if compgen -G "${source%.py}.*.so" >/dev/null; then
        say "compiled $source"
    else
        say "not compiled, slower but complete: $source"
    fi
done
wait "$pages" || true
trap - EXIT
