import { Command, CommanderError } from "commander";
import { AgentError, isInstance } from "../errors.ts";
import { conformanceCommand } from "./conformance.ts";
import { devCommand } from "./dev/dev.ts";
import { readEnvFile } from "./dev/env-file.ts";
import { EXIT, Exit } from "./exit.ts";
import { readVersion } from "./package-version.ts";
import { toText } from "./thrown-text.ts";
import { serveCommand } from "./serve/serve.ts";

/**
 * Runs the command line. Returns when the command is done; a server keeps running until a signal stops it.
 */
export async function runProgram(argv: readonly string[]): Promise<void> {
  const program = new Command("troupe")
    .description("Runs AI agents as actors and serves them over the Agent Protocol.")
    .version(readVersion())
    .showHelpAfterError("(troupe --help lists the options)");
  for (const command of [devCommand(), serveCommand(), conformanceCommand()]) {
    program.addCommand(command.copyInheritedSettings(program));
  }
  for (const command of [program, ...program.commands]) command.exitOverride();
  // Before its options are parsed: the file may give some of them.
  program.hook("preSubcommand", (_, command) => {
    if (command.name() === "dev") readEnvFile();
  });
  try {
    await program.parseAsync(argv);
  } catch (thrown) {
    // Exits at once: handles that a failed start left open would keep the process alive.
    process.exit(report(thrown));
  }
}

/** Reports an error and returns the exit code. */
function report(thrown: unknown): number {
  // Commander has already printed its message. Help and version also come here, with code 0.
  if (isInstance(thrown, CommanderError)) return thrown.exitCode === 0 ? 0 : EXIT.usage;
  if (isInstance(thrown, Exit)) {
    console.error(`troupe: ${thrown.message}`);
    if (thrown.hint !== undefined) console.error(thrown.hint);
    return thrown.code;
  }
  console.error(isInstance(thrown, AgentError) ? `troupe: ${thrown.message}` : toText(thrown));
  return 1;
}
