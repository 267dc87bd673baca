import { Argument, Command } from "../vendor/commander.ts";
import { SHELLS } from "./shells.ts";

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
    .action((shell: keyof typeof SHELLS) => void process.stdout.write(SHELLS[shell]));
}
