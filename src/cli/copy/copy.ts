import { Command } from "../vendor/commander.ts";
import { copyLog } from "../../node/copy/copy-log.ts";
import { EXIT, Exit } from "../exit.ts";
import { explained } from "../logs/explained.ts";
import { checkPlaces, checkSecretsKey, openSource, openTarget } from "./open-stores.ts";
import { CopyProgress } from "./progress.ts";
import { Summary } from "./summary.ts";

interface Options {
  readonly from: string;
  readonly to: string;
  readonly json: boolean;
}

/** `troupe copy`: copies all runs of a log to another one. */
export function copyCommand(): Command {
  return new Command("copy")
    .description(
      "Copies all runs with their files and secrets from a data directory to a PostgreSQL database, or back.",
    )
    .requiredOption("--from <log>", "a data directory, or postgres://user@host:5432/database")
    .requiredOption("--to <log>", "the same for the target, which is created if needed")
    .option("--json", "print the result as one line of JSON", false)
    .addHelpText("after", AFTER_HELP)
    .action(run);
}

const AFTER_HELP = `
Both must be closed: stop the servers first, and start one on the target only when the copy is done.
Each run and file is read again from both and compared by its SHA-256. After an interruption run the
command again: it continues. A run that is in both and differs is an error, and stays as it is.
Secrets in a database are encrypted with TROUPE_SECRETS_KEY.

Example:
  troupe copy --from .troupe --to postgres://agents@db.internal/agents`;

async function run({ from, to, json }: Options): Promise<void> {
  checkPlaces(from, to);
  const source = await openSource(from);
  try {
    const target = await openTarget(to);
    const [summary, progress] = [new Summary(), new CopyProgress(process.stderr)];
    try {
      await explained(async () => {
        await checkSecretsKey(source, { from, to });
        for await (const copied of copyLog(source, target)) {
          summary.add(copied);
          progress.show(summary);
        }
      }, CODES).catch(withAdvice);
    } finally {
      progress.end();
      await target.close();
    }
    summary.print(json);
  } finally {
    await source.close();
  }
}

/** Something differs in the target, or the copy itself does. */
const CODES = { conflict: EXIT.data, internal: EXIT.damaged } as const;

/** What was copied stays, so the command can be repeated after any failure. */
function withAdvice(thrown: unknown): never {
  if (!(thrown instanceof Exit) || thrown.hint !== undefined) throw thrown;
  throw new Exit(thrown.code, thrown.message, "what was copied stays; run the command again to continue");
}
