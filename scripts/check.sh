#!/usr/bin/env bash
# The quick loop of somebody who changes Planfold: types, lint, architecture, line budget, words, and the tests of the folders that changed since
# the main branch. Says what it ran and how long each part took. `npm test` runs everything.
set -uo pipefail
cd "$(dirname "$0")/.."

base=HEAD
for main in origin/main origin/master main master; do
  if found=$(git merge-base HEAD "$main" 2>/dev/null); then base=$found; break; fi
done
changed=$({ git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | sort -u)

# The folder of each changed source; a changed test runs by itself. Tests that start real processes (`e2e`, `crash`) are left to `npm test`.
tests=(test/architecture.test.ts test/line-budget.test.ts test/private-words.test.ts)
while read -r file; do
  case "$file" in
    *.test.ts) tests+=("$file") ;;
    src/*/*.ts) tests+=("$(dirname "$file")/") ;;
    docs/* | *.md | examples/*) tests+=(test/docs.test.ts) ;;
  esac
done <<<"$changed"
mapfile -t tests < <(printf '%s\n' "${tests[@]}" | sort -u)

failed=()
step() {
  local began=$SECONDS name=$1
  shift
  if "$@"; then echo "✔ $name ($((SECONDS - began)) s)"; else echo "✘ $name ($((SECONDS - began)) s)"; failed+=("$name"); fi
}
echo "$(grep -c . <<<"$changed") files changed since $(git rev-parse --short "$base"); tests: ${tests[*]}"
# What the compiler found out last time is kept, so the second run takes a few seconds.
types() { npx tsc -p tsconfig.json --incremental --tsBuildInfoFile "$1/main.tsbuildinfo" && npx tsc -p web/tsconfig.json --incremental --tsBuildInfoFile "$1/web.tsbuildinfo"; }
lint() { [ -z "$changed" ] || tr '\n' '\0' <<<"$changed" | xargs -0 npx biome check --no-errors-on-unmatched; }
step lint lint
echo "types: up to two minutes the first time, a few seconds when few files changed since"
step types types node_modules/.cache
step tests npx vitest run --reporter=dot --project 'unit:*' "${tests[@]}"
echo "$SECONDS s in all; $([ ${#failed[@]} = 0 ] && echo passed || echo "failed: ${failed[*]}")"
exit "$((${#failed[@]} > 0))"
