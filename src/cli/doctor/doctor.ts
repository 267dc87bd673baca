import { styleText } from "node:util";
import { Command, Option } from "../vendor/commander.ts";
import { EXIT } from "../exit.ts";
import { checkAgents } from "./agents.ts";
import { checkData } from "./data.ts";
import { checkDatabase } from "./database.ts";
import type { Finding } from "./finding.ts";
import { checkModel, checkNode, checkPackages } from "./machine.ts";
import { checkServer } from "./server.ts";

/** `troupe doctor`: looks for what keeps agents from running here, and says what mends it. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("Checks this machine, the project and the server, and names what mends each fault.")
    .option("--agents <directory>", "directory of the agent files", "agents")
    .option("--data <directory>", "directory for runs and artifacts", ".troupe")
    .addOption(new Option("--log <url>", "the PostgreSQL database of the runs").env("TROUPE_LOG"))
    .option("--url <url>", "address of the server")
    .option("--json", "print one finding a line as JSON", false)
    .addHelpText(
      "after",
      `
Exit code 0 if nothing is wrong, else 1. TROUPE_TOKEN is sent as the bearer token.

Examples:
  troupe doctor
  troupe doctor --url http://127.0.0.1:4100`,
    )
    .action(run);
}

interface Options {
  readonly agents: string;
  readonly data: string;
  readonly log?: string;
  readonly url?: string;
  readonly json: boolean;
}

async function run({ agents, data, log = "", url, json }: Options): Promise<void> {
  const checks: (() => Finding[] | Promise<Finding[]>)[] = [
    checkNode,
    () => checkAgents(agents),
    () => (log === "" ? checkData(data) : checkDatabase(log)),
    () => checkServer(url, data),
    checkModel,
    checkPackages,
  ];
  let isWell = true;
  for (const check of checks) {
    for (const finding of await check()) {
      isWell &&= finding.ok;
      console.log(json ? JSON.stringify(finding) : toLine(finding));
    }
  }
  // An agent file may have opened something that would keep the process alive.
  process.exit(isWell ? 0 : EXIT.failed);
}

function toLine({ subject, ok, message, fix }: Finding): string {
  const sign = ok ? styleText("green", "✓") : styleText("red", "✕");
  const line = `${sign} ${subject.padEnd(9)} ${message.replaceAll("\n", "\n            ")}`;
  return fix === undefined ? line : `${line}\n            ${styleText("bold", fix)}`;
}
