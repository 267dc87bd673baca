import { Command, Option } from "./vendor/commander.ts";
import { listPostgresShards, movePostgresShards } from "../storage/postgres/inspect-shards.ts";
import { EXIT, Exit } from "./exit.ts";
import { addDatabase, toConnections } from "./logs/connection.ts";
import { explained } from "./logs/explained.ts";
import { parseWholeNumber } from "./option-values.ts";
import { Meter } from "./print/meter.ts";
import { printTable } from "./print/table.ts";
import { stdout } from "./print/terminal.ts";
import { toDuration } from "./print/text.ts";

interface Options {
  readonly log?: string;
  readonly json: boolean;
}

/** `troupe shards`: how the runs of a log are divided among its databases. */
export function shardsCommand(): Command {
  return new Command("shards")
    .description("Lists the databases of a log with their shards, and moves shards between them.")
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(moveCommand())
    .addHelpText(
      "after",
      `
Examples:
  troupe shards list --log postgres://agents@db1.internal/agents --log postgres://agents@db2.internal/agents
  troupe shards move --to 3`,
    );
}

function listCommand(): Command {
  return addOptions(new Command("list"))
    .description("Lists the databases with their shards, runs and bytes.")
    .addHelpText("after", "\nExample: troupe shards list --json")
    .action(async ({ log, json }: Options) => {
      const databases = await explained(() => listPostgresShards(toDatabases(log)));
      if (json) {
        for (const database of databases) stdout.json(database);
        return;
      }
      printTable(
        ["DATABASE", "SHARDS", "MOVING", "RUNS", "MB", "ADDRESS"],
        databases.map(({ number, address, shards, moving, runs, bytes }) => [
          String(number),
          shards.toLocaleString("en"),
          moving.toLocaleString("en"),
          runs.toLocaleString("en"),
          (bytes / 1_000_000).toFixed(1),
          address,
        ]),
      );
    });
}

interface MoveOptions extends Options {
  readonly to: number;
  readonly from?: number;
  readonly count?: number;
}

function moveCommand(): Command {
  return addOptions(new Command("move"))
    .description("Moves shards to a database while the nodes work.")
    .requiredOption("--to <number>", "the number of the database that gets them", parseWholeNumber)
    .option("--from <number>", "the one that gives them; default: those that have the most", parseWholeNumber)
    .option(
      "--count <number>",
      "how many; default: all of --from, and without it as many as make the shares equal",
      parseWholeNumber,
    )
    .addHelpText(
      "after",
      `
Each run goes on; it waits for a moment when its shard is switched. After an interruption run the command again.

Examples:
  troupe shards move --to 3              gives a new database its share
  troupe shards move --from 2 --to 1     empties database 2`,
    )
    .action(run);
}

async function run({ log, json, ...move }: MoveOptions): Promise<void> {
  const startMs = performance.now();
  const moved = { shards: 0, runs: 0, pauseMs: 0 };
  let meter: Meter | undefined;
  try {
    await explained(() =>
      movePostgresShards(toDatabases(log), move, ({ runs, pauseMs, total }) => {
        moved.shards += 1;
        moved.runs += runs;
        moved.pauseMs = Math.max(moved.pauseMs, pauseMs);
        meter ??= new Meter("shards", total);
        meter.show(moved.shards, `${moved.runs.toLocaleString("en")} runs`);
      }),
    );
  } finally {
    meter?.end();
  }
  const [pauseMs, durationMs] = [Math.round(moved.pauseMs), Math.round(performance.now() - startMs)];
  if (json) {
    stdout.json({
      shards: moved.shards,
      runs: moved.runs,
      longest_pause_ms: pauseMs,
      duration_ms: durationMs,
    });
    return;
  }
  stdout.line(
    moved.shards === 0
      ? "There is nothing to move."
      : `Moved ${amount(moved.shards, "shard")} with ${amount(moved.runs, "run")} to database ${move.to} in ${toDuration(durationMs)}. No run waited for longer than ${pauseMs} ms.`,
  );
}

function amount(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

function addOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--log <url>",
        "the databases: postgres://user@host:5432/database, several times, in their order",
      )
        .argParser(addDatabase)
        .env("TROUPE_LOG"),
    )
    .option("--json", "print the result as JSON, one object a line", false);
}

function toDatabases(log = ""): ReturnType<typeof toConnections> {
  if (log !== "") return toConnections(log);
  throw new Exit(EXIT.usage, "shards needs the databases of a log", "use --log FIRST --log SECOND");
}
