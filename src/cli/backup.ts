import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { backUpDirectory } from "../storage/sqlite/backup.ts";
import { EXIT, Exit } from "./exit.ts";
import { isDatabase } from "./logs/connection.ts";
import { openWithHints } from "./logs/open-log.ts";
import { stdout } from "./print/terminal.ts";
import { toDuration } from "./print/text.ts";
import { Command } from "./vendor/commander.ts";

interface Options {
  readonly data: string;
  readonly json: boolean;
}

/** `troupe backup`: copies a data directory while its server works. */
export function backupCommand(): Command {
  return new Command("backup")
    .description("Copies a data directory of one moment to a new directory, while its server works.")
    .argument("<directory>", "the directory to make")
    .option("--data <directory>", "the data directory of the server", ".troupe")
    .option("--json", "print the result as one line of JSON", false)
    .addHelpText("after", AFTER_HELP)
    .action(run);
}

const AFTER_HELP = `
The copy has the runs, their files, the secrets and the kept versions of code: all that was acknowledged before the
command began. It gets its name when it is whole and checked. The secrets in it are in plain text, as in the original.

Examples:
  troupe backup /backup/agents-2026-11-29
  troupe doctor --data /backup/agents-2026-11-29
  troupe serve --data /backup/agents-2026-11-29`;

async function run(to: string, { data, json }: Options): Promise<void> {
  if (isDatabase(to) || isDatabase(data))
    throw new Exit(EXIT.usage, "backup copies a data directory", "back up a database with pg_dump");
  if (!existsSync(join(data, "log.db")))
    throw new Exit(
      EXIT.unknown,
      `there is no log in ${data}`,
      "give the directory that a server has as --data; back up a database with pg_dump",
    );
  checkTarget(to, data);
  const startedMs = performance.now();
  const backedUp = await backUpDirectory(data, to).catch((thrown: unknown) =>
    openWithHints(data, HINTS, () => {
      throw thrown;
    }),
  );
  const ms = Math.round(performance.now() - startedMs);
  if (json) {
    stdout.json({ ...backedUp, duration_ms: ms });
    return;
  }
  const { runs, artifacts, bytes, commits } = backedUp;
  const counts = [
    `${runs.toLocaleString("en")} runs`,
    `${artifacts.toLocaleString("en")} files`,
    `${commits.toLocaleString("en")} commits`,
    `${(bytes / 1_000_000).toFixed(1)} MB`,
  ];
  stdout.line(`${to} has ${counts.join(", ")}, checked, in ${toDuration(ms)}.`);
}

/** Refuses a target in which something is already, and one inside the original. */
function checkTarget(to: string, data: string): void {
  const found = statSync(to, { throwIfNoEntry: false });
  if (found !== undefined && !(found.isDirectory() && readdirSync(to).length === 0))
    throw new Exit(EXIT.data, `${to} exists`, "name a directory that does not exist yet");
  if (`${resolve(to)}/`.startsWith(`${resolve(data)}/`))
    throw new Exit(EXIT.usage, `${to} is in the data directory`, "name a directory outside of it");
}

const HINTS = {
  inUse: "run the command again",
  damaged: "the backup was not made; restore the newest one, or read docs/guide/troubleshooting.md",
  unusable: "check the disk and the permissions, then run the command again",
};
