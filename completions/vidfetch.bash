# bash completion for vidfetch, made by 'vidfetch --generate bash'

_vidfetch_words() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@" -- "$cur")
}

_vidfetch() {
  local cur="${COMP_WORDS[COMP_CWORD]}" option=""
  COMPREPLY=()
  # With '=' among the word breaks, --name=value is three words.
  if [[ $cur == "=" ]]; then
    option="${COMP_WORDS[COMP_CWORD-1]}" cur=""
  elif ((COMP_CWORD >= 2)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == "=" ]]; then
    option="${COMP_WORDS[COMP_CWORD-2]}"
  elif ((COMP_CWORD >= 1)); then
    option="${COMP_WORDS[COMP_CWORD-1]}"
  fi
  case "$option" in
    -f|--format) _vidfetch_words -W "mov mp4"; return ;;
    -o|--output) compopt -o filenames 2>/dev/null; _vidfetch_words -f; return ;;
    -d|--directory) compopt -o filenames 2>/dev/null; _vidfetch_words -d; return ;;
    --name) return ;;
    -i|--input) compopt -o filenames 2>/dev/null; _vidfetch_words -f; return ;;
    -j|--jobs) return ;;
    --max-attempts) return ;;
    --shard) return ;;
    --archive) compopt -o filenames 2>/dev/null; _vidfetch_words -f; return ;;
    --key) return ;;
    --exec) return ;;
    -x|--connections) return ;;
    --max-per-host) return ;;
    --retries) return ;;
    --retry-max-time) return ;;
    --connect-timeout) return ;;
    --stall-timeout) return ;;
    --limit-rate) return ;;
    --max-filesize) return ;;
    --checksum) return ;;
    --proxy) return ;;
    --cacert) compopt -o filenames 2>/dev/null; _vidfetch_words -f; return ;;
    -H|--header) return ;;
    -u|--user) return ;;
    --bearer-file) compopt -o filenames 2>/dev/null; _vidfetch_words -f; return ;;
    -b|--cookie) return ;;
    -A|--user-agent) return ;;
    -e|--referer) return ;;
    --streams) return ;;
    --audio) return ;;
    --subtitles) return ;;
    --metadata) return ;;
    --verify) _vidfetch_words -W "fast hash"; return ;;
    --progress) _vidfetch_words -W "auto bar plain json none"; return ;;
    --color) _vidfetch_words -W "auto always never"; return ;;
    --print) return ;;
    --results) compopt -o filenames 2>/dev/null; _vidfetch_words -f; return ;;
    --report-format) _vidfetch_words -W "table markdown html failed-list"; return ;;
    --generate) _vidfetch_words -W "man bash zsh fish"; return ;;
  esac
  if [[ $cur == -* ]]; then
    _vidfetch_words -W "-f --format= -o --output= -d --directory= --name= --overwrite --skip-existing --keep-source --low-disk -i --input= --allow-empty -j --jobs= --in-order --fail-fast --max-attempts= --shard= --archive= --key= --refresh --exec= -x --connections= --max-per-host= --retries= --retry-max-time= --connect-timeout= --stall-timeout= --limit-rate= --max-filesize= --checksum= --proxy= --cacert= --allow-private --allow-downgrade -H --header= -u --user= --bearer-file= -b --cookie= -A --user-agent= -e --referer= --streams= --audio= --no-audio --subtitles= --metadata= --strip-metadata --strict-lossless --verify= --no-faststart --progress= -q --quiet -v --verbose --color= --probe --json --print= --results= --report --report-format= --history -0 --null --no-config -h --help --version --generate="
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  compopt -o filenames 2>/dev/null
  _vidfetch_words -f
}

complete -F _vidfetch vidfetch
