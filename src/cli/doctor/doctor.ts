import { join, relative } from "node:path";
import { Command, Option } from "../vendor/commander.ts";
import { EXIT } from "../exit.ts";
import { stdout, styled } from "../print/terminal.ts";
import { checkData } from "./data.ts";
import type { Finding } from "./finding.ts";
import { checkModel, checkNode, checkPackages } from "./machine.ts";
import { checkServer } from "./server.ts";
import type { Exit } from "../exit.ts";
import { listAgentFiles } from "../agent-files.ts";
import { loadAgentFile, loadAgents } from "../load-agents.ts";
import { toFinding, toWarning } from "./finding.ts";
import {
  checkPostgresListening,
  inspectPostgres,
  inspectPostgresKeys,
} from "../../storage/postgres/inspect.ts";
import type { InspectedPostgres } from "../../storage/postgres/inspect.ts";
import { addDatabase, toConnections } from "../logs/connection.ts";
import { explained } from "../logs/explained.ts";
import { readSecrets, toListen } from "../logs/open-log.ts";
import type { PostgresConnection } from "../../storage/postgres/options.ts";
import { DROP, MOVED, toKeyTrouble } from "../../storage/postgres/secrets.ts";

/** `troupe doctor`: looks for what keeps agents from running here, and says what mends it. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("Checks this machine, the project and the server, and names what mends each fault.")
    .option("--agents <directory>", "directory of the agent files", "agents")
    .option("--data <directory>", "directory for runs and artifacts", ".troupe")
    .addOption(
      new Option("--log <url>", "the PostgreSQL database of the runs; several times for several")
        .argParser(addDatabase)
        .env("TROUPE_LOG"),
    )
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
    () => (log === "" ? checkData(data) : checkDatabases(log)),
    () => checkServer(url, data),
    checkModel,
    checkPackages,
  ];
  let isWell = true;
  const named = new Set<string>();
  for (const check of checks) {
    for (const finding of await check()) {
      isWell &&= finding.ok;
      // The server says of its database what the database says of itself.
      if (!finding.ok && named.has(finding.message)) continue;
      if (!finding.ok) named.add(finding.message);
      if (json) stdout.json(finding);
      else print(finding);
    }
  }
  // An agent file may have opened something that would keep the process alive.
  process.exit(isWell ? 0 : EXIT.failed);
}

function print({ subject, ok, absent, message, fix }: Finding): void {
  const [first = "", ...others] = message.split("\n");
  const mark = absent === true ? styled("dim", "–") : ok ? styled("green", "✓") : styled("red", "✕");
  stdout.line(mark, ` ${subject.padEnd(9)} ${first}`);
  for (const line of others) stdout.line(`            ${line}`);
  if (fix !== undefined) stdout.line("            ", styled("bold", fix));
}

/** Loads each agent file, and then all of them together as a server does. */
async function checkAgents(directory: string): Promise<Finding[]> {
  const subject = "agents";
  const findings: Finding[] = [];
  try {
    for (const file of await listAgentFiles(directory)) findings.push(await checkFile(join(directory, file)));
    if (findings.every(({ ok }) => ok)) await loadAgents(directory);
  } catch (thrown) {
    findings.push(toFinding(subject, thrown, "npx troupe init my-agents creates a project with an agent"));
  }
  return findings;
}

async function checkFile(path: string): Promise<Finding> {
  const shown = relative("", path);
  try {
    const names = (await loadAgentFile(path)).map(({ name }) => name);
    if (names.length > 0) return { subject: "agents", ok: true, message: `${shown}: ${names.join(", ")}` };
    return {
      subject: "agents",
      ok: true,
      message: `${shown} exports no agent; a name that starts with _ says that it is not to`,
    };
  } catch (thrown) {
    const [, missing] = /Cannot find package '([^']+)'/.exec((thrown as Exit).hint.join("\n")) ?? [];
    return toFinding("agents", thrown, missing === undefined ? `correct ${shown}` : `npm install ${missing}`);
  }
}

/** Looks at the databases of a log. */
async function checkDatabases(log: string): Promise<Finding[]> {
  try {
    const connections = toConnections(log);
    const found = [];
    for (const index of connections.keys()) found.push(...(await checkDatabase(connections, index)));
    return found;
  } catch (thrown) {
    return [toFinding("database", thrown)];
  }
}

/** Looks at a database of a log without changing it: its schema, and what can lose acknowledged events. */
async function checkDatabase(connections: readonly PostgresConnection[], index: number): Promise<Finding[]> {
  const subject = "database";
  const connection = connections[index] ?? {};
  try {
    const inspected = await explained(() => inspectPostgres(connection));
    await explained(() => checkPostgresListening({ ...connection, ...toListen(connections, index) }));
    return [
      toState(inspected),
      ...inspected.warnings.map((warning): Finding => ({ subject, ok: false, ...toWarning(warning) })),
      ...(inspected.schema >= inspected.needed && index === 0 ? await checkKeys(connection) : []),
    ];
  } catch (thrown) {
    return [toFinding(subject, thrown)];
  }
}

/** Looks whether the keys of this environment open the secrets of a database; with several, which of them are still needed. */
async function checkKeys(connection: PostgresConnection): Promise<Finding[]> {
  const subject = "secrets";
  const keys = readSecrets("TROUPE_SECRETS_KEY");
  const use = await explained(() => inspectPostgresKeys(connection, keys));
  if (keys.length === 0 && use.none > 0) {
    const message = `the database has ${use.none} secret${use.none === 1 ? "" : "s"}, and TROUPE_SECRETS_KEY is not set`;
    return [{ subject, ok: false, message, fix: "set it to the key of the nodes" }];
  }
  const trouble = toKeyTrouble(use, keys.length);
  if (trouble !== undefined) return [{ subject, ok: false, ...toWarning(trouble) }];
  if (keys.length < 2) return [];
  if (use.older === 0) return [{ subject, ok: true, message: `${MOVED}; ${DROP}` }];
  const message = `${use.first} are under the first key and ${use.older} under older ones`;
  return [{ subject, ok: true, message: `${message}; a node that starts with these keys moves them` }];
}

function toState({ address, schema, needed, canMigrate }: InspectedPostgres): Finding {
  const subject = "database";
  if (schema === needed) return { subject, ok: true, message: `${address}: schema ${schema}` };
  if (schema > needed) {
    const message = `${address}: schema ${schema} of a newer version, beside which this one, of schema ${needed}, works`;
    return { subject, ok: true, message };
  }
  const state = schema === 0 ? "no tables yet" : `schema ${schema}, and this version needs ${needed}`;
  if (canMigrate)
    return { subject, ok: true, message: `${address}: ${state}; the next start creates what is missing` };
  return {
    subject,
    ok: false,
    message: `${address}: ${state}; this role may not create tables`,
    fix: "run `troupe migrate` as the owner of the database",
  };
}
