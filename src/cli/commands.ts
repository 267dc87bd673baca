import type { Command } from "./vendor/commander.ts";

/** Loads the modules of a command and creates it. */
type Load = () => Promise<Command>;

/** The commands by the groups of the help, in its order. Each has modules of its own, which others need not wait for. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  "Serve agents:": {
    init: async () => (await import("./init/init.ts")).initCommand(),
    dev: async () => (await import("./dev/dev.ts")).devCommand(),
    serve: async () => (await import("./serve/serve.ts")).serveCommand(),
  },
  "Talk to a server:": {
    agents: async () => (await import("./lists/agents.ts")).agentsCommand(),
    describe: async () => (await import("./lists/agents.ts")).describeCommand(),
    call: async () => (await import("./requests/call.ts")).callCommand(),
    chat: async () => (await import("./requests/chat.ts")).chatCommand(),
    runs: async () => (await import("./lists/runs.ts")).runsCommand(),
    events: async () => (await import("./lists/events.ts")).eventsCommand(),
    waits: async () => (await import("./lists/waits.ts")).waitsCommand(),
    resume: async () => (await import("./requests/resume.ts")).resumeCommand(),
    cancel: async () => (await import("./requests/cancel.ts")).cancelCommand(),
    fork: async () => (await import("./lists/run-changes.ts")).forkCommand(),
    remove: async () => (await import("./lists/run-changes.ts")).removeCommand(),
    artifact: async () => (await import("./lists/run-changes.ts")).artifactCommand(),
  },
  "Check and set up:": {
    doctor: async () => (await import("./doctor/doctor.ts")).doctorCommand(),
    migrate: async () => (await import("./migrate.ts")).migrateCommand(),
    copy: async () => (await import("./copy/copy.ts")).copyCommand(),
    nodes: async () => (await import("./nodes.ts")).nodesCommand(),
    conformance: async () => (await import("./conformance.ts")).conformanceCommand(),
    completion: async () => (await import("./completion/completion.ts")).completionCommand(),
  },
};

/** Creates the command with a name; all commands, in the order of the help, if there is none with it. */
export async function createCommands(name = ""): Promise<readonly Command[]> {
  const groups = Object.entries(GROUPS);
  const isKnown = groups.some(([, loads]) => Object.hasOwn(loads, name));
  const created = groups.flatMap(([heading, loads]) =>
    Object.entries(loads)
      .filter(([known]) => !isKnown || known === name)
      .map(async ([, load]) => (await load()).helpGroup(heading)),
  );
  return Promise.all(created);
}
