import { Argument, Command } from "../vendor/commander.ts";
import { stdout } from "../print/terminal.ts";

/** `troupe completion`: the completion of a shell, which asks this program for what fits. */
export function completionCommand(): Command {
  return new Command("completion")
    .description(
      "Prints the completion for a shell; it knows the agents, operations and ids of the running server.",
    )
    .addArgument(new Argument("<shell>").choices(Object.keys(SHELLS)))
    .addHelpText(
      "after",
      `
Examples:
  source <(troupe completion bash)
  troupe completion zsh > "\${fpath[1]}/_troupe"
  troupe completion fish > ~/.config/fish/completions/troupe.fish`,
    )
    .action((shell: keyof typeof SHELLS) => stdout.write(SHELLS[shell]));
}

/** `troupe complete WORD…`: prints what can stand in place of the last word. For the completions of the shells. */
export function completeCommand(program: Command): Command {
  return new Command("complete")
    .argument("[words...]")
    .passThroughOptions()
    .allowUnknownOption()
    .action(async (words: readonly string[]) => {
      const { findCandidates } = await import("./candidates.ts");
      for (const candidate of await findCandidates(program, words)) stdout.line(candidate);
      // A pending answer of the server would keep the process alive.
      process.exit(0);
    });
}

/** The completions of the shells. Each passes the words after the program's name, the last one as far as it is typed. */
const SHELLS = {
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
# In a folder of functions this file is the function itself, whose first call is a completion.
if [[ $funcstack[1] == _troupe ]]; then _troupe "$@"; else compdef _troupe troupe; fi
`,
  fish: `complete -c troupe -f -a '(troupe complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
} as const;
