import { Command, CommanderError, Help } from "./vendor/commander.ts";
import { isInstance } from "../errors.ts";
import { closest } from "./closest.ts";
import { completeCommand } from "./completion/completion.ts";
import { readEnvFile } from "./dev/env-file.ts";
import { EXIT, Exit } from "./exit.ts";
import { behindCommand } from "./leading-options.ts";
import { readVersion } from "./package-version.ts";
import { printFailure } from "./print/failure.ts";
import type { LogFormat } from "./print/log.ts";
import { stderr, stdout } from "./print/terminal.ts";
import type { ServerOptions } from "./serve/server-options.ts";

/**
 * Runs the command line. Returns when the command is done; a server keeps running until a signal stops it.
 */
export async function runProgram(argv: readonly string[]): Promise<void> {
  const program = await createProgram(argv[2]);
  for (const command of program.commands) for (const part of command.commands) part.exitOverride();
  for (const command of [program, ...program.commands]) command.exitOverride();
  // Before its options are parsed: the file may give some of them.
  program.hook("preSubcommand", (_, command) => {
    if (READS_ENV.includes(command.name())) readEnvFile();
  });
  let format: LogFormat = "text";
  program.hook("preAction", (_, command) => {
    format = command.opts<Partial<ServerOptions>>().logFormat ?? "text";
  });
  // Node would print it with what a server has written into it. A server that runs here has a listener of its own.
  process.on("uncaughtException", (thrown) => {
    if (process.listenerCount("uncaughtException") > 1) return;
    printFailure(thrown, format);
    process.exit(codeOf(thrown));
  });
  try {
    await program.parseAsync(behindCommand(argv.slice(2), program), { from: "user" });
  } catch (thrown) {
    // Commander has already printed its message. Help and version also come here, with code 0.
    const isCommanders = isInstance(thrown, CommanderError);
    if (!isCommanders) printFailure(thrown, format);
    // Exits at once: handles that a failed start left open would keep the process alive.
    process.exit(isCommanders ? (thrown.exitCode === 0 ? 0 : EXIT.usage) : codeOf(thrown));
  }
}

/** The commands that read `.env`: those that load agents and ask their models. */
const READS_ENV: readonly string[] = ["dev", "doctor", "eval"];

const AFTER_HELP = `
Examples:
  troupe init my-agents
  troupe dev --open
  troupe call payments pay --to bob --amount 3
  troupe help call

Exit codes: 0 done, 1 the turn failed, 2 usage, 3 canceled, 4 it waits and there is no terminal to ask on,
65 an agent file does not load, 66 unknown agent, run or request, 69 no server, the port is taken, or no database,
73 the data directory cannot be used, 74 the log has lost entries, 75 the data directory is in use,
77 the token is refused, 78 the configuration is not safe, 130 left with Ctrl-C.`;

/** Creates the program with the command of a name alone; with all commands if there is none with it. */
export async function createProgram(name?: string): Promise<Command> {
  const help = new Help();
  const program = new Command("troupe")
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
    })
    .description("Runs AI agents as actors and serves them over the Agent Protocol.")
    .version(readVersion())
    .commandsGroup("Check and set up:")
    .helpCommand(false)
    .configureHelp({
      // The default of a flag says nothing.
      optionDescription: (option) => help.optionDescription(option).replace(/ \(default: false\)$/, ""),
    })
    .showHelpAfterError("(troupe --help lists the options)")
    .addHelpText("after", AFTER_HELP);
  for (const command of await createCommands(name)) {
    const hint = `(troupe help ${command.name()} shows its arguments and an example)`;
    program.addCommand(command.copyInheritedSettings(program).showHelpAfterError(hint));
    for (const part of command.commands) part.copyInheritedSettings(command).showHelpAfterError(hint);
  }
  program.addCommand(helpCommand(program));
  return program.addCommand(completeCommand(program), { hidden: true });
}

/** `troupe help`: unlike that of the library, it says if there is no such command. */
function helpCommand(program: Command): Command {
  return new Command("help")
    .description("Shows the help of a command.")
    .argument("[command]")
    .addHelpText("after", "\nExample: troupe help call")
    .action((name?: string) => {
      if (name === undefined) program.help();
      const names = program.commands.map((command) => command.name());
      const found = program.commands.find((command) => command.name() === name);
      if (found) found.help();
      const near = closest(name, names);
      const hint = near === undefined ? "troupe --help lists the commands" : `did you mean ${near}?`;
      throw new Exit(EXIT.usage, `there is no command ${name}`, hint);
    });
}

function codeOf(thrown: unknown): number {
  return isInstance(thrown, Exit) ? thrown.code : 1;
}

/** Loads the modules of a command and creates it. */
type Load = () => Promise<Command>;

/** The commands by the groups of the help, in its order. Each has modules of its own, which others need not wait for. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  "Serve agents:": {
    init: async () => (await import("./init/init.ts")).initCommand(),
    dev: async () => (await import("./dev/dev.ts")).devCommand(),
    serve: async () => (await import("./serve/serve.ts")).serveCommand(),
    acp: async () => (await import("./serve/acp.ts")).acpCommand(),
  },
  "Talk to a server:": {
    agents: async () => (await import("./lists/agents.ts")).agentsCommand(),
    describe: async () => (await import("./lists/agents.ts")).describeCommand(),
    call: async () => (await import("./requests/call.ts")).callCommand(),
    chat: async () => (await import("./requests/chat.ts")).chatCommand(),
    runs: async () => (await import("./lists/runs.ts")).runsCommand(),
    events: async () => (await import("./lists/events.ts")).eventsCommand(),
    waits: async () => (await import("./lists/waits.ts")).waitsCommand(),
    schedules: async () => (await import("./lists/schedules.ts")).schedulesCommand(),
    topics: async () => (await import("./lists/topics.ts")).topicsCommand(),
    "dead-letters": async () => (await import("./lists/dead-letters.ts")).deadLettersCommand(),
    resume: async () => (await import("./requests/resume.ts")).resumeCommand(),
    "answer-link": async () => (await import("./requests/answer-link.ts")).answerLinkCommand(),
    cancel: async () => (await import("./requests/cancel.ts")).cancelCommand(),
    fork: async () => (await import("./lists/run-changes.ts")).forkCommand(),
    remove: async () => (await import("./lists/run-changes.ts")).removeCommand(),
    artifact: async () => (await import("./lists/run-changes.ts")).artifactCommand(),
  },
  "Check and set up:": {
    check: async () => (await import("./check/check.ts")).checkCommand(),
    doctor: async () => (await import("./doctor/doctor.ts")).doctorCommand(),
    explain: async () => (await import("./explain.ts")).explainCommand(),
    migrate: async () => (await import("./migrate.ts")).migrateCommand(),
    backup: async () => (await import("./backup.ts")).backupCommand(),
    copy: async () => (await import("./copy/copy.ts")).copyCommand(),
    eval: async () => (await import("./eval/eval.ts")).evalCommand(),
    traces: async () => (await import("./traces.ts")).tracesCommand(),
    stats: async () => (await import("./stats.ts")).statsCommand(),
    audit: async () => (await import("./audit.ts")).auditCommand(),
    erase: async () => (await import("./erase.ts")).eraseCommand(),
    keys: async () => (await import("./keys.ts")).keysCommand(),
    nodes: async () => (await import("./nodes.ts")).nodesCommand(),
    shards: async () => (await import("./shards.ts")).shardsCommand(),
    conformance: async () => (await import("./conformance.ts")).conformanceCommand(),
    completion: async () => (await import("./completion/completion.ts")).completionCommand(),
  },
};

/** Creates the command with a name; all commands, in the order of the help, if there is none with it. */
async function createCommands(name = ""): Promise<readonly Command[]> {
  const groups = Object.entries(GROUPS);
  const isKnown = groups.some(([, loads]) => Object.hasOwn(loads, name));
  const created = groups.flatMap(([heading, loads]) =>
    Object.entries(loads)
      .filter(([known]) => !isKnown || known === name)
      .map(async ([, load]) => (await load()).helpGroup(heading)),
  );
  return Promise.all(created);
}
