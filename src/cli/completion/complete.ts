import { Command } from "../vendor/commander.ts";

/** `troupe complete WORD…`: prints what can stand in place of the last word. For the completions of the shells. */
export function completeCommand(program: Command): Command {
  return new Command("complete")
    .argument("[words...]")
    .passThroughOptions()
    .allowUnknownOption()
    .action(async (words: readonly string[]) => {
      const { findCandidates } = await import("./candidates.ts");
      for (const candidate of await findCandidates(program, words)) console.log(candidate);
      // A pending answer of the server would keep the process alive.
      process.exit(0);
    });
}
