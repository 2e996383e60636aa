#!/usr/bin/env bash
# Builds frontend/ into build/frontend, which the console serves. Run by `make setup` when a source changed.
# Node comes from the machine, or where there is none (or an old one) from PyPI: requirements/frontend.lock.
# One at a time, and swapped in whole: a build that fails leaves the last one as it is.
# With --own-node it does nothing where the machine has no such node.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }

is_node_new_enough() {
    command -v npm >/dev/null \
        && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

find_node() {
    is_node_new_enough && return
    if [ ! -x build/node/bin/node ]; then
        say "installing node from PyPI: this machine has none that is new enough"
        .venv/bin/uv venv --quiet --clear build/node
        .venv/bin/uv pip install --quiet --python build/node --require-hashes --requirement requirements/frontend.lock
    fi
    PATH="$PWD/build/node/bin:$PATH"
    export PATH
    is_node_new_enough
}

is_fresh() {
    [ -e "$stamp" ] && [ -e build/frontend/index.html ] \
        && [ -z "$(find frontend -path frontend/node_modules -prune -o -type f -newer "$stamp" -print -quit)" ]
}

stamp="$PWD/build/.frontend-stamp"
mkdir -p build
exec {lock}>build/.frontend-lock
flock "$lock"
if is_fresh; then
    touch "$stamp"
    exit 0
fi
if [ "${1:-}" = --own-node ] && ! is_node_new_enough; then
    exit 0
fi
find_node
began="$(mktemp build/.frontend-began.XXXXXX)"
trap 'rm -rf "$began" build/frontend.new build/frontend.old' EXIT
if ! cmp -s frontend/package-lock.json frontend/node_modules/.installed-lock; then
    say "installing frontend/package-lock.json"
    (cd frontend && npm ci --no-audit --no-fund --loglevel=error)
    cp frontend/package-lock.json frontend/node_modules/.installed-lock
fi
say "building frontend/"
(cd frontend && node node_modules/vite/bin/vite.js build --logLevel warn --outDir ../build/frontend.new --emptyOutDir)
rm -rf build/frontend.old
[ ! -e build/frontend ] || mv build/frontend build/frontend.old
mv build/frontend.new build/frontend
# As old as the beginning: what was written meanwhile is built the next time.
touch --reference "$began" "$stamp"
