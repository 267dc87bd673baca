import type { Copied } from "../../node/copy/copy-log.ts";
import { printTable } from "../print/table.ts";
import { toDuration } from "../print/text.ts";

/** Numbers of things that were copied, or that were there already. */
export class Counts {
  runs = 0;
  removed = 0;
  events = 0;
  artifacts = 0;
  secrets = 0;
  bytes = 0;

  add({ kind, events, bytes }: Copied): void {
    this[KEYS[kind]] += 1;
    this.events += events;
    this.bytes += bytes;
  }
}

const KEYS = { run: "runs", "removed run": "removed", artifact: "artifacts", secret: "secrets" } as const;

/** The result of a copy. */
export class Summary {
  readonly copied: Counts = new Counts();
  /** What the target had already. */
  readonly present: Counts = new Counts();
  readonly #started = performance.now();

  add(item: Copied): void {
    (item.isNew ? this.copied : this.present).add(item);
  }

  print(isJson: boolean): void {
    const ms = Math.round(performance.now() - this.#started);
    if (isJson) {
      console.log(JSON.stringify({ copied: this.copied, present: this.present, duration_ms: ms }));
      return;
    }
    const heads = ["", "RUNS", "REMOVED", "EVENTS", "ARTIFACTS", "SECRETS", "BYTES"];
    const toRow = (name: string, counts: Counts): readonly string[] => [
      name,
      ...[counts.runs, counts.removed, counts.events, counts.artifacts, counts.secrets, counts.bytes].map(
        (count) => count.toLocaleString("en"),
      ),
    ];
    printTable(process.stdout, heads, [toRow("copied", this.copied), toRow("there already", this.present)]);
    console.log(`The target has all of it, compared by SHA-256, in ${toDuration(ms)}.`);
  }
}
