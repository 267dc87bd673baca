import { Command } from "../vendor/commander.ts";
import { importCommand } from "./import.ts";
import { pickCommand } from "./pick.ts";
import { evalRunCommand } from "./run.ts";

const AFTER_HELP = `
A data set is a file of conversations, evals/NAME.jsonl, one a line. Beside it evals/NAME.ts may say how it is judged.

Examples:
  troupe eval pick refunds --agent desk --since 2030-01-01 --where finish_reason=error
  troupe eval run refunds
  troupe eval run refunds --model small,large --budget 2`;

/** `troupe eval`: tries changed agents with conversations of the past. */
export function evalCommand(): Command {
  return new Command("eval")
    .description("Tries agents with recorded conversations, and judges their answers.")
    .addHelpText("after", AFTER_HELP)
    .addCommand(pickCommand())
    .addCommand(importCommand())
    .addCommand(evalRunCommand());
}
