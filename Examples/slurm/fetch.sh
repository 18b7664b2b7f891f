#!/bin/sh
# A Slurm array that fetches a list, one shard a task:
#
#     LIST=urls.txt FOLDER=/shared/films sbatch Examples/slurm/fetch.sh
#
# Choose --array so that a shard takes 10 to 60 minutes: --array=1-20 makes 20 of them.
#SBATCH --job-name=vidfetch
#SBATCH --array=1-20
#SBATCH --cpus-per-task=2
#SBATCH --time=02:00:00
# A task whose node dies runs again elsewhere, and its log goes on.
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=vidfetch-%A_%a.log
# A minute before its time is over vidfetch is told to stop; what it has of a film stays as a part.
#SBATCH --signal=B:TERM@60

results=${RESULTS:-$FOLDER.results}
mkdir -p "$results" || exit 41
# Slurm requeues without a limit: after five times, what has failed six times ends the task for good.
[ "${SLURM_RESTART_COUNT:-0}" -lt 5 ] || set -- --max-attempts 6 "$@"
# exec, so that signals reach vidfetch and its exit status is the task's. A results file for each
# shard, since appends of several machines are not kept apart on every network file system.
exec vidfetch --shard auto -i "$LIST" -d "$FOLDER" --name '{id}' --skip-existing \
  --results "$results/shard-$SLURM_ARRAY_TASK_ID.ndjson" "$@"
