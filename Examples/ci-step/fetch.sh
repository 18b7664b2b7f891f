#!/usr/bin/env bash
# A CI step that fetches a list: tells "try again later" from "fix the machine" and "look at the list".
#
#     fetch.sh LIST FOLDER
#
# Exit status: 0 all there; 75 (EX_TEMPFAIL) a server or the network failed twice, run the job again
# later; anything else is vidfetch's own, and running it again as it stands won't help. What has been
# fetched stays fetched in every case: the next run skips it.
set -uo pipefail
list=${1:?usage: fetch.sh LIST FOLDER}
folder=${2:?usage: fetch.sh LIST FOLDER}
results=${RESULTS:-results.ndjson}
# GitHub shows what is appended to this file; elsewhere it is printed.
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}

fetch() {
  vidfetch -i "$list" -d "$folder" --name '{id}' --skip-existing --results "$results"
}

fetch
status=$?
case $status in
  10 | 11) # the network, or a busy server
    sleep "${RETRY_AFTER:-60}"
    fetch
    status=$?
    ;;
esac

[ ! -s "$results" ] || vidfetch --report --report-format markdown "$results" >> "$summary"

case $status in
  0) ;;
  10 | 11)
    echo "some items could not be fetched yet (exit status $status): run this job again later" >&2
    exit 75
    ;;
  40 | 41 | 42)
    echo "the disk or the output folder needs attention (exit status $status)" >&2
    ;;
  *)
    echo "some items can't be had as they stand (exit status $status); these are:" >&2
    [ ! -s "$results" ] || vidfetch --report --report-format failed-list "$results" >&2
    ;;
esac
exit "$status"
