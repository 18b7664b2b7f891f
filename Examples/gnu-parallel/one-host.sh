#!/bin/sh
# Fetches a list on this host, in SHARDS parts, four at a time:
#
#     one-host.sh LIST FOLDER [SHARDS]
#
# vidfetch fetches side by side by itself; this is for those who want a process for each shard, and
# GNU parallel's job log. The same line again runs only what failed.
set -eu
list=$1 folder=$2 shards=${3:-8}
seq "$shards" | parallel --quote --jobs 4 --joblog jobs.log --resume-failed \
  --termseq TERM,10000,KILL \
  vidfetch --shard "{}/$shards" -i "$list" -d "$folder" --name '{id}' --skip-existing \
  --results "$folder.results.ndjson"
