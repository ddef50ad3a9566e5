#!/usr/bin/env bash
# What every task of the kill loop runs, held or not. It says one line for the ledger (see ledger.ts) when it begins, when its effect happens
# and when it undoes something, so that the oracle need not ask the product:
#
#   begin|effect|undo PLAN TASK KEY ATTEMPT PID MICROSECONDS
#
#   task.sh PLAN TASK VERB SECONDS [FILE]
set -eu
# No argument: a file that is named in a command is part of what an approval is bound to, and the ledger changes all the time.
ledger=ledger
plan=$1 task=$2 verb=$3 seconds=$4 file=${5:-}
key=${PLANFOLD_KEY:--} attempt=${PLANFOLD_ATTEMPT:--}
visit=${key##*/}

note() {
  local line="$1 $plan $task $key $attempt $$ ${EPOCHREALTIME/./}"
  # Said at once, whoever listens; then it waits until it is written down.
  printf '%s\n' "$line" 1<>.ledger
  local tries=0
  until grep -qxF "$line" "$ledger"; do
    [ $((tries += 1)) -lt 3000 ] || { echo "nobody keeps the ledger" >&2; exit 70; }
    sleep 0.01
  done
}
folder() { [ -z "$file" ] || mkdir -p "$(dirname "$file")"; }

case $verb in
  # Reads only.
  look)
    note begin
    sleep "$seconds"
    note effect
    ;;
  # Appends to its file in two halves: run twice without being set back, it shows.
  append | flaky)
    note begin
    folder
    printf 'half %s %s\n' "$task" "$visit" >>"$file"
    printf 'made by %s %s\n' "$task" "$visit" >"$file.new"
    sleep "$seconds"
    # The first attempt of a flaky task fails in the middle, and may be retried.
    if [ "$verb" = flaky ] && [ "$attempt" = 1 ]; then exit 75; fi
    note effect
    printf 'whole %s %s\n' "$task" "$visit" >>"$file"
    ;;
  # An effect outside; with a file, it also leaves one, the same for every attempt of the visit.
  push)
    note begin
    sleep "$seconds"
    note effect
    if [ -n "$file" ]; then
      folder
      printf 'pushed %s %s\n' "$task" "$visit" >"$file"
    fi
    sleep "$seconds"
    ;;
  probe) grep -q "^effect $plan $task $key " "$ledger" ;;
  undo) note undo ;;
  fail)
    note begin
    sleep "$seconds"
    exit 9
    ;;
esac
