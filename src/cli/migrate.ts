import { Command, Option } from "./vendor/commander.ts";
import { migratePostgres } from "../storage/postgres/inspect.ts";
import { EXIT, Exit } from "./exit.ts";
import { stdout } from "./print/terminal.ts";
import { toConnection } from "./logs/connection.ts";
import { explained } from "./logs/explained.ts";

/** `troupe migrate`: brings the tables of a database to the version of this package. */
export function migrateCommand(): Command {
  return new Command("migrate")
    .description("Creates the tables of a log in a PostgreSQL database, or brings them to this version.")
    .addOption(
      new Option("--log <url>", "the database: postgres://user@host:5432/database").env("TROUPE_LOG"),
    )
    .addHelpText(
      "after",
      "\nA server does the same when it starts, if its user may create tables.\n\nExample:\n  troupe migrate --log postgres://owner@db.internal/agents",
    )
    .action(run);
}

async function run({ log }: { readonly log?: string }): Promise<void> {
  if (log === undefined || log === "") {
    throw new Exit(EXIT.usage, "migrate needs a database", "use --log postgres://user@host:5432/database");
  }
  const { from, to } = await explained(() => migratePostgres(toConnection(log)));
  const before = from === 0 ? "it had no tables of a log" : `it had schema ${from}`;
  stdout.line(
    from === to ? `The database has schema ${to} already.` : `The database has schema ${to} now; ${before}.`,
  );
}
