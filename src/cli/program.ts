import { Command, CommanderError } from "commander";
import { AgentError, isInstance } from "../errors.ts";
import { createCommands } from "./commands.ts";
import { completeCommand } from "./completion/completion.ts";
import { readEnvFile } from "./dev/env-file.ts";
import { EXIT, Exit } from "./exit.ts";
import { readVersion } from "./package-version.ts";
import { toText } from "./thrown-text.ts";
import { createLog } from "./print/log.ts";
import type { ServerOptions } from "./serve/server-options.ts";

/**
 * Runs the command line. Returns when the command is done; a server keeps running until a signal stops it.
 */
export async function runProgram(argv: readonly string[]): Promise<void> {
  const program = new Command("troupe")
    .enablePositionalOptions()
    .description("Runs AI agents as actors and serves them over the Agent Protocol.")
    .version(readVersion())
    .showHelpAfterError("(troupe --help lists the options)");
  for (const command of createCommands()) {
    program.addCommand(command.copyInheritedSettings(program));
  }
  program.addCommand(completeCommand(program), { hidden: true });
  for (const command of [program, ...program.commands]) command.exitOverride();
  // Before its options are parsed: the file may give some of them.
  program.hook("preSubcommand", (_, command) => {
    if (command.name() === "dev" || command.name() === "doctor") readEnvFile();
  });
  let print = printText;
  program.hook("preAction", (_, command) => {
    if (command.opts<Partial<ServerOptions>>().logFormat === "json") print = printJson;
  });
  try {
    await program.parseAsync(argv);
  } catch (thrown) {
    // Commander has already printed its message. Help and version also come here, with code 0.
    const isCommanders = isInstance(thrown, CommanderError);
    if (!isCommanders) print(thrown);
    // Exits at once: handles that a failed start left open would keep the process alive.
    process.exit(isCommanders ? (thrown.exitCode === 0 ? 0 : EXIT.usage) : codeOf(thrown));
  }
}

function printText(thrown: unknown): void {
  console.error(isOwn(thrown) ? `troupe: ${thrown.message}` : toText(thrown));
  if (isInstance(thrown, Exit) && thrown.hint !== undefined) console.error(thrown.hint);
}

function printJson(thrown: unknown): void {
  const log = createLog("json");
  if (!isOwn(thrown)) log.fault("the command failed", thrown);
  else log.fault(thrown.message, undefined, isInstance(thrown, Exit) ? { hint: thrown.hint } : {});
}

/** Whether an error says everything by its message, so that its stack is not printed. */
function isOwn(thrown: unknown): thrown is Exit | AgentError {
  return isInstance(thrown, Exit) || isInstance(thrown, AgentError);
}

function codeOf(thrown: unknown): number {
  return isInstance(thrown, Exit) ? thrown.code : 1;
}
