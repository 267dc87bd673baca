import { Command } from "../vendor/commander.ts";
import { copyLog } from "../../node/copy/copy-log.ts";
import { EXIT, Exit } from "../exit.ts";
import { explained } from "../logs/explained.ts";
import { checkPlaces, checkSecretsKey, openSource, openTarget } from "./open-stores.ts";
import { addDatabase } from "../logs/connection.ts";
import { Meter } from "../print/meter.ts";
import { stdout } from "../print/terminal.ts";
import { toDuration } from "../print/text.ts";
import type { CopiedItem } from "../../node/copy/copy-log.ts";
import { printTable } from "../print/table.ts";

interface Options {
  readonly from: string;
  readonly to: string;
  readonly json: boolean;
}

/** `troupe copy`: copies all runs of a log to another one. */
export function copyCommand(): Command {
  return new Command("copy")
    .description(
      "Copies all runs with files, secrets and kept versions of code from a data directory to a PostgreSQL database, or back.",
    )
    .requiredOption(
      "--from <log>",
      "a data directory, or postgres://user@host:5432/database; several times for several databases",
      addDatabase,
    )
    .requiredOption("--to <log>", "the same for the target, which is created if needed", addDatabase)
    .option("--json", "print the result as one line of JSON", false)
    .addHelpText("after", AFTER_HELP)
    .action(run);
}

const AFTER_HELP = `
Both must be closed: stop the servers first, and start one on the target only when the copy is done.
Each run and file is read again from both and compared by its SHA-256. After an interruption run the
command again: it continues. A run that is in both and differs is an error, and stays as it is.
Secrets in a database are encrypted with TROUPE_SECRETS_KEY. Without the key a database keeps no versions
of code, and none are copied.

Example:
  troupe copy --from .troupe --to postgres://agents@db.internal/agents`;

async function run({ from, to, json }: Options): Promise<void> {
  checkPlaces(from, to);
  const source = await openSource(from);
  try {
    const target = await openTarget(to);
    const summary = new Summary();
    let meter: Meter | undefined;
    try {
      await explained(async () => {
        await checkSecretsKey(source, { from, to });
        const { total } = await source.log.list({ limit: 1, total: true });
        meter = new Meter("runs", total);
        for await (const copied of copyLog(source, target)) {
          summary.add(copied);
          meter.show(...summary.progress);
        }
      }, CODES).catch(withAdvice);
    } finally {
      meter?.end();
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
  if (!(thrown instanceof Exit) || thrown.hint.length > 0) throw thrown;
  throw new Exit(thrown.code, thrown.message, "what was copied stays; run the command again to continue");
}

/** Numbers of things that were copied, or that were there already. */
class Counts {
  runs = 0;
  removed = 0;
  events = 0;
  artifacts = 0;
  secrets = 0;
  versions = 0;
  bytes = 0;

  add({ kind, events, bytes }: CopiedItem): void {
    if (kind === "audit" || kind === "spending" || kind === "statistics") return;
    this[KEYS[kind]] += 1;
    this.events += events;
    this.bytes += bytes;
  }
}

const KEYS = {
  run: "runs",
  "removed run": "removed",
  artifact: "artifacts",
  secret: "secrets",
  version: "versions",
} as const;

const NUMBERS = ["runs", "removed", "events", "artifacts", "secrets", "versions", "bytes"] as const;

/** The result of a copy. */
class Summary {
  readonly copied: Counts = new Counts();
  /** What the target had already. */
  readonly present: Counts = new Counts();
  readonly #started = performance.now();

  add(item: CopiedItem): void {
    (item.isNew ? this.copied : this.present).add(item);
  }

  /** The runs that the target has by now, and the rest in words. */
  get progress(): [runs: number, files: string, size: string] {
    const sum = (name: "runs" | "artifacts" | "bytes"): number => this.copied[name] + this.present[name];
    const megabytes = (sum("bytes") / 1_000_000).toFixed(1);
    return [sum("runs"), `${sum("artifacts").toLocaleString("en")} artifacts`, `${megabytes} MB`];
  }

  print(isJson: boolean): void {
    const ms = Math.round(performance.now() - this.#started);
    if (isJson) {
      stdout.json({ copied: this.copied, present: this.present, duration_ms: ms });
      return;
    }
    const heads = ["", "RUNS", "REMOVED", "EVENTS", "ARTIFACTS", "SECRETS", "VERSIONS", "BYTES"];
    const toRow = (name: string, counts: Counts): readonly string[] => [
      name,
      ...NUMBERS.map((name) => counts[name].toLocaleString("en")),
    ];
    printTable(heads, [toRow("copied", this.copied), toRow("there already", this.present)]);
    stdout.line(`The target has all of it, compared by SHA-256, in ${toDuration(ms)}.`);
  }
}
