import { Command, Option } from "./vendor/commander.ts";
import { rowLeaseMsOf } from "../cluster/known-nodes.ts";
import { listPostgresNodes } from "../storage/postgres/inspect.ts";
import { EXIT, Exit } from "./exit.ts";
import { printTable } from "./print/table.ts";
import { stderr, stdout } from "./print/terminal.ts";
import { addDatabase, toConnections } from "./logs/connection.ts";
import { explained } from "./logs/explained.ts";

interface Options {
  readonly log?: string;
  readonly json: boolean;
}

/** `troupe nodes`: the nodes that share a database. */
export function nodesCommand(): Command {
  return new Command("nodes")
    .description(
      "Lists the nodes that share a database, with what they own and the versions of their agents.",
    )
    .addOption(
      new Option("--log <url>", "the database: postgres://user@host:5432/database; several times for several")
        .argParser(addDatabase)
        .env("TROUPE_LOG"),
    )
    .option("--json", "print one node a line as JSON", false)
    .addHelpText(
      "after",
      "\nOPEN counts the runs whose turn runs, waits or sleeps.\n\nExample:\n  troupe nodes --log postgres://reader@db.internal/agents",
    )
    .action(run);
}

async function run({ log, json }: Options): Promise<void> {
  if (log === undefined || log === "") {
    throw new Exit(EXIT.usage, "nodes needs a database", "use --log postgres://user@host:5432/database");
  }
  const nodes = await explained(() => listPostgresNodes(toConnections(log)));
  if (json) {
    for (const { node, url, state, agents, ageMs, runs, open } of nodes)
      stdout.json({ node, url, state, beat_age_ms: Math.round(ageMs), runs, open, agents });
    return;
  }
  if (nodes.length === 0) stderr.line("No node has used this database in the last hour.");
  const rows = nodes.map(({ node, url, state, agents, ageMs, runs, open, ...row }) => [
    node,
    url,
    // Nodes that are dead do not say so.
    state !== "left" && ageMs > rowLeaseMsOf(row) ? "silent" : state,
    `${(ageMs / 1_000).toFixed(1)} s ago`,
    String(runs),
    String(open),
    Object.entries(agents)
      .map(([name, { version }]) => (version === undefined ? name : `${name}@${version}`))
      .join(" "),
  ]);
  printTable(["NODE", "ADDRESS", "STATE", "BEAT", "RUNS", "OPEN", "AGENTS"], rows);
}
