#!/usr/bin/env bash
# The whole test run: build, types, lint, tests; ends with a line of its own, `N passed, N failed`.
set -u
cd "$(dirname "$0")/.."
failed=0
step() { echo "── $*"; "$@" || failed=1; }

# What some tests need is installed when it is missing and that is allowed (root, apt-get); else these tests say that they skip.
install() { sh scripts/install-missing.sh "$@" || echo "$1 is missing: the tests that need it say that they skip"; }
# strace gives the crash tests their finest grain. bubblewrap sandboxes commands.
install strace strace
install bubblewrap bwrap
# The store on PostgreSQL is tried on a server of its own: PLANFOLD_TEST_DATABASE, or one that the tests start.
if [ -z "${PLANFOLD_TEST_DATABASE:-}" ]; then install postgresql pg_createcluster; fi
# The web UI is tried in a real browser: PLANFOLD_CHROMIUM, that of the system, or the one of @sparticuz/chromium.
if [ -z "${PLANFOLD_CHROMIUM:-}" ] && [ ! -d node_modules/@sparticuz/chromium/bin ]; then install chromium chromium chromium-browser google-chrome; fi
# Tests that start a coding agent use a small one of our own. With PLANFOLD_REAL_AGENTS=1 they also use Grok Build (206 MB, from a lock of its
# own), which is installed while the rest is built and checked.
agent=
if [ "${PLANFOLD_REAL_AGENTS:-}" = 1 ] && [ ! -e test/agents/grok/bin/grok ]; then
  (cd test/agents/grok && npm install --silent --ignore-scripts --no-save && node unpack.mjs) >/dev/null 2>&1 &
  agent=$!
fi
# git is needed by Planfold itself.
sh scripts/install-missing.sh git git || { echo "git is needed: install it, then run the tests again"; exit 1; }

# The build, and beside it and the tests the checks, which are told at the end.
checked=$(mktemp)
(step npm run --silent typecheck; step npm run --silent lint; exit "$failed") >"$checked" 2>&1 &
checking=$!
step npm run --silent build
if [ -n "$agent" ]; then wait "$agent" || echo "Grok Build could not be installed: the tests that need it say that they skip"; fi
report=$(mktemp)
npx vitest run --reporter=default --reporter=json --outputFile.json="$report" "$@" || failed=1
wait "$checking" || failed=1
cat "$checked"
rm -f "$checked"
counts=$(node -e '
  const { readFileSync } = require("node:fs")
  try {
    const r = JSON.parse(readFileSync(process.argv[1], "utf8"))
    const suites = r.testResults.filter(f => f.status === "failed" && f.assertionResults.length === 0).length
    const skipped = r.numPendingTests + (r.numTodoTests ?? 0)
    console.log(`${r.numPassedTests} ${r.numFailedTests + suites} ${skipped}`)
  } catch { console.log("0 1 0") }' "$report")
rm -f "$report"
read -r passed bad skipped <<<"$counts"
# A failed step before the tests counts as one failure, so that the line below never says less than the truth.
if [ "$failed" = 1 ] && [ "$bad" = 0 ]; then bad=1; fi
[ "$skipped" -gt 0 ] && echo "$skipped skipped; each says why above"
echo "$passed passed, $bad failed"
exit "$failed"
