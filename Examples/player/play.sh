#!/bin/sh
# Fetches a video and plays it once it is there, complete and verified.
#
#     play.sh URL
#
# PLAYER names the player: mpv where nothing is said. The path is handed over as one word, without a
# shell in between; exit status 51 is the player's failure, and the file stays.
exec vidfetch "$@" --exec "${PLAYER:-mpv}" {} \;
