import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "./vendor/commander.ts";
import { migratePostgres } from "../storage/postgres/inspect.ts";
import { migrateDirectory } from "../storage/sqlite/directory/open-directory.ts";
import { EXIT, Exit } from "./exit.ts";
import { stdout } from "./print/terminal.ts";
import { addDatabase, toConnections } from "./logs/connection.ts";
import { explained } from "./logs/explained.ts";
import { openWithHints } from "./logs/open-log.ts";

interface Options {
  readonly log?: string;
  readonly data?: string;
  readonly to?: number;
}

/** `troupe migrate`: brings a log to the version of this package, or back to an older one. */
export function migrateCommand(): Command {
  return new Command("migrate")
    .description("Brings a database or a data directory to this version, or back to an older one.")
    .addOption(
      new Option("--log <url>", "the database: postgres://user@host:5432/database; several times for several")
        .argParser(addDatabase)
        .env("TROUPE_LOG"),
    )
    .option("--data <directory>", "a data directory, in place of a database")
    .addOption(
      new Option("--to <number>", "take changes back, down to this schema or format").argParser(parseNumber),
    )
    .addHelpText(
      "after",
      `
A server does the same when it starts, if its user may create tables. The way back is for a version that cannot work with
the newer schema or format; stop all nodes first. It changes nothing if something would be lost, and says what.

Examples:
  troupe migrate --log postgres://owner@db.internal/agents
  troupe migrate --log postgres://owner@db.internal/agents --to 13
  troupe migrate --data .troupe --to 24`,
    )
    .action(run);
}

async function run({ log = "", data, to }: Options): Promise<void> {
  if (data !== undefined) {
    migrateData(data, to);
    return;
  }
  if (log === "") {
    throw new Exit(
      EXIT.usage,
      "migrate needs a database",
      "use --log postgres://user@host:5432/database, or --data DIRECTORY",
    );
  }
  const options = to === undefined ? {} : { to };
  const connections = toConnections(log);
  for (const [index, connection] of connections.entries()) {
    const migrated = await explained(() => migratePostgres(connection, options), { conflict: EXIT.inUse });
    print(connections.length === 1 ? "The database" : `Database ${index + 1}`, "schema", migrated);
  }
}

function migrateData(data: string, to: number | undefined): void {
  if (!existsSync(join(data, "log.db")))
    throw new Exit(
      EXIT.unknown,
      `there is no log in ${data}`,
      "give the directory that a server has as --data",
    );
  print(
    data,
    "format",
    openWithHints(data, HINTS, () => migrateDirectory(data, to)),
  );
}

const HINTS = {
  inUse: "stop the server that uses it, then migrate",
  damaged: "restore it from a backup",
  unusable: "check the directory and its permissions",
};

function print(
  what: string,
  word: "schema" | "format",
  { from, to }: { readonly from: number; readonly to: number },
): void {
  const before = from === 0 ? "it had no tables of a log" : `it had ${word} ${from}`;
  stdout.line(
    from === to ? `${what} has ${word} ${to} already.` : `${what} has ${word} ${to} now; ${before}.`,
  );
}

function parseNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number === 0)
    throw new InvalidArgumentError("The value must be a number above 0.");
  return number;
}
