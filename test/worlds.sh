#!/usr/bin/env bash
# The first minute of a user on three kinds of machine: the demo and six journeys
#   1. with bubblewrap: only the demo, because `npm test` has run the journeys so,
#   2. without it: a file that is not executable is mounted over it, which takes root,
#   3. as an ordinary user, who is made for it and removed afterwards, which takes root.
# Needs a build. A world that cannot be had here is skipped by name. Ends with a line of its own, `N passed, N failed`.
set -u
cd "$(dirname "$0")/.."
unset PLANFOLD_SANDBOX
export PLANFOLD_DEMO_CLEAN=1
JOURNEYS='init, run, fail, fix|a wrong plan|crash, an edit|a gate, pushed back|a fork, adopted|a session, paused'
WANTED=6
work=$(mktemp -d "${TMPDIR:-/tmp}/planfold-worlds-XXXXXX")
chmod 755 "$work"
user=
leave() {
  [ -z "$user" ] || userdel -rf "$user" >/dev/null 2>&1
  rm -rf "$work"
}
trap leave EXIT

# In a folder of its own: a world whose demo must have shown the sandbox (`walls`), must have skipped it (`no-walls`), or may do either (`any`).
# Writes what it saw to world.log and the counts to world.counts.
world() {
  local at=$1 walls=$2 passed=0 demo=failed
  if node --import tsx examples/demo/demo.ts >"$at/demo.log" 2>&1; then demo=passed; fi
  case $walls in
    walls) grep -q '^6. planfold run walls.yaml' "$at/demo.log" || demo=failed ;;
    no-walls) grep -q '^6. skipped: planfold run walls.yaml' "$at/demo.log" || demo=failed ;;
  esac
  [ "$walls" = walls ] || node node_modules/vitest/vitest.mjs run --project e2e test/e2e/journeys.test.ts -t "$JOURNEYS" \
    --reporter=default --reporter=json --outputFile.json="$at/journeys.json" >"$at/journeys.log" 2>&1
  passed=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).numPassedTests' "$at/journeys.json" 2>/dev/null || echo 0)
  [ "$walls" = walls ] && WANTED=0
  {
    if [ "$WANTED" = 0 ]; then echo "demo $demo"; else echo "demo $demo, $passed of $WANTED journeys passed"; fi
    [ "$demo" = passed ] || sed 's/^/  demo | /' "$at/demo.log" | tail -60
    [ "$passed" = "$WANTED" ] || sed 's/^/  journeys | /' "$at/journeys.log" | tail -120
  } >"$at/world.log"
  [ "$demo" = passed ] && passed=$((passed + 1))
  echo "$passed" >"$at/world.counts"
}
if [ "${1:-}" = --world ]; then shift; trap - EXIT; rm -rf "$work"; world "$@"; exit; fi

passed=0 failed=0 names=()
run() { # NAME FOLDER COMMAND...: starts a world
  names+=("$2|$1")
  mkdir -p "$work/$2"
  chmod 777 "$work/$2"
  "${@:3}" &
}
skip() { echo "── world $1: skipped: $2"; }
holds() { node dist/cli/main.js doctor --json --dir "$work/none" | grep -q '"message": *"bubblewrap [^"]* works"'; }
as_root() { [ "$(id -u)" = 0 ]; }

if holds; then run 'with bubblewrap' 1 bash "$PWD/test/worlds.sh" --world "$work/1" walls
else skip 'with bubblewrap' 'bubblewrap is not installed, or does not start here'; fi

if ! as_root; then skip 'without bubblewrap' 'only root can hide it'
elif ! unshare -m true 2>/dev/null; then skip 'without bubblewrap' 'unshare -m is not allowed here'
else
  : >"$work/hidden"
  chmod 644 "$work/hidden"
  # shellcheck disable=SC2016
  run 'without bubblewrap' 2 unshare -m bash -c '
    for folder in ${PATH//:/ } /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
      if [ -x "$folder/bwrap" ]; then mount --bind "$0" "$folder/bwrap" || exit 1; fi
    done
    exec bash "$@"' "$work/hidden" "$PWD/test/worlds.sh" --world "$work/2" no-walls
fi

if ! as_root; then skip 'as an ordinary user' "only root can make one; this user's own run of the tests is such a world"
elif ! command -v useradd >/dev/null || ! useradd -m "planfold-$$"; then skip 'as an ordinary user' 'no user can be made here'
else
  user=planfold-$$
  copy=$work/clone
  as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups env -i HOME="/home/$user" PATH="$PATH" LANG=C.UTF-8 PLANFOLD_DEMO_CLEAN=1 "$@"; }
  if ! as_user node --version >/dev/null; then skip 'as an ordinary user' "other users may not run $(command -v node)"
  else
    mkdir -p "$copy/node_modules"
    tar cf - --exclude=./node_modules --exclude=./.git --exclude=./.cache --exclude='./test/agents/*/*' . | tar xf - -C "$copy"
    if as_user test -r "$PWD/node_modules/vitest/vitest.mjs"; then ln -s "$PWD"/node_modules/* "$copy/node_modules/"
    else cp -r node_modules/. "$copy/node_modules/"; fi
    chown -Rh "$user:" "$copy"
    run 'as an ordinary user' 3 as_user bash "$copy/test/worlds.sh" --world "$work/3" any
  fi
fi

wait
for name in ${names[@]+"${names[@]}"}; do
  at=$work/${name%%|*}
  echo "── world ${name#*|}: $(cat "$at/world.log" 2>/dev/null || echo 'it did not start')"
  count=$(cat "$at/world.counts" 2>/dev/null || echo 0)
  passed=$((passed + count))
  wanted=$((WANTED + 1))
  [ "${name%%|*}" = 1 ] && wanted=1
  failed=$((failed + wanted - count))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
