#!/bin/sh
# Fetches a list on several hosts that share a folder, by ssh, in SHARDS parts:
#
#     hosts.sh HOSTS LIST FOLDER [SHARDS]
#
# HOSTS has a line for each host, such as 4/fetch1.example.org: four shards at a time there. vidfetch,
# LIST and FOLDER have to be there under the same names. The same line again runs only what failed;
# remove jobs.log to begin anew.
set -eu
hosts=$1 list=$2 folder=$3 shards=${4:-32}
mkdir -p "$folder.results"
seq "$shards" | parallel --quote --sshloginfile "$hosts" --workdir "$PWD" \
  --joblog jobs.log --resume-failed --termseq TERM,10000,KILL \
  vidfetch --shard "{}/$shards" -i "$list" -d "$folder" --name '{id}' --skip-existing \
  --results "$folder.results/shard-{}.ndjson"
