/** The completions of the shells. Each passes the words after the program's name, the last one as far as it is typed. */
export const SHELLS = {
  bash: `_troupe() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(troupe complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _troupe troupe
`,
  zsh: `#compdef troupe
_troupe() {
  local -a found
  found=(\${(f)"$(troupe complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a found
}
compdef _troupe troupe
`,
  fish: `complete -c troupe -f -a '(troupe complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
} as const;
