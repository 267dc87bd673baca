import type { Command } from "./vendor/commander.ts";
import { completionCommand } from "./completion/completion.ts";
import { conformanceCommand } from "./conformance.ts";
import { copyCommand } from "./copy/copy.ts";
import { devCommand } from "./dev/dev.ts";
import { doctorCommand } from "./doctor/doctor.ts";
import { migrateCommand } from "./migrate.ts";
import { initCommand } from "./init/init.ts";
import { agentsCommand, describeCommand } from "./lists/agents.ts";
import { eventsCommand } from "./lists/events.ts";
import { artifactCommand, forkCommand, removeCommand } from "./lists/run-changes.ts";
import { runsCommand } from "./lists/runs.ts";
import { waitsCommand } from "./lists/waits.ts";
import { callCommand } from "./requests/call.ts";
import { cancelCommand } from "./requests/cancel.ts";
import { chatCommand } from "./requests/chat.ts";
import { resumeCommand } from "./requests/resume.ts";
import { nodesCommand } from "./nodes.ts";
import { serveCommand } from "./serve/serve.ts";

/** Creates the commands, in the order of the help. */
export function createCommands(): readonly Command[] {
  return [
    ...inGroup("Serve agents:", [initCommand(), devCommand(), serveCommand()]),
    ...inGroup("Talk to a server:", [
      agentsCommand(),
      describeCommand(),
      callCommand(),
      chatCommand(),
      runsCommand(),
      eventsCommand(),
      waitsCommand(),
      resumeCommand(),
      cancelCommand(),
      forkCommand(),
      removeCommand(),
      artifactCommand(),
    ]),
    ...inGroup("Check and set up:", [
      doctorCommand(),
      migrateCommand(),
      copyCommand(),
      nodesCommand(),
      conformanceCommand(),
      completionCommand(),
    ]),
  ];
}

function inGroup(heading: string, commands: readonly Command[]): readonly Command[] {
  return commands.map((command) => command.helpGroup(heading));
}
