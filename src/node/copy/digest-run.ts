import { createHash } from "node:crypto";
import type { EventLog } from "../../ports/event-log.ts";
import { countEvents, toEncoded } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import { requestsOf, waitsOf } from "./lists.ts";

/** The content of a run in short. */
export interface RunDigest {
  readonly hash: string;
  readonly events: number;
  /** The bytes of its events and records. */
  readonly bytes: number;
}

/** Reads everything of a run, page by page. Two engines that have the same run give the same hash. */
export async function digestRun(log: EventLog, runId: RunId): Promise<RunDigest> {
  const facts = createHash("sha256");
  const add = (what: string, value: object | undefined): void => {
    facts.update(`${what} ${value === undefined ? "none" : toSortedJson(value)}\n`);
  };
  const { events, bytes, hash } = await digestEntries(log, runId);
  add("entries", { events, bytes, hash });
  const { owner: _owner, ...entry } = (await log.run(runId)) ?? {};
  add("run", entry);
  for await (const page of requestsOf(log, runId)) {
    for (const { accepted, ...request } of page)
      add("request", { ...request, accepted: [accepted.n, accepted.after] });
  }
  const { aliases, references } = await log.holdings(runId);
  for (const alias of aliases) add("alias", alias);
  for (const thing of references) add("reference", { thing });
  for (const wait of await waitsOf(log, runId)) add("wait", wait);
  for (const message of await log.outbox({ runId })) add("outbox", message);
  add("snapshot", await log.snapshot(runId));
  return { hash: facts.digest("hex"), events, bytes };
}

/** Pages of different engines end at different places, so events and records have a hash each. */
async function digestEntries(log: EventLog, runId: RunId): Promise<RunDigest> {
  const [events, records] = [createHash("sha256"), createHash("sha256")];
  let bytes = 0;
  let [after, afterRecord] = [0, 0];
  for (;;) {
    const page = await log.read(runId, { after, afterRecord, ...PAGE });
    for (const text of toEncoded(page.events)) {
      events.update(text).update("\n");
      bytes += Buffer.byteLength(text);
    }
    for (const record of page.records) {
      const text = JSON.stringify(record);
      records.update(text).update("\n");
      bytes += Buffer.byteLength(text);
      afterRecord = record.n;
    }
    after += countEvents(page.events);
    const isEnd = page.cut !== true && (page.events.length === 0 || after >= page.head);
    if (isEnd) return { hash: events.digest("hex") + records.digest("hex"), events: after, bytes };
  }
}

/** The fields in alphabetical order, because each engine has its own. Their values are stored as JSON and keep theirs. */
function toSortedJson(value: object): string {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return JSON.stringify(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const PAGE = { limit: 10_000, limitBytes: 1_048_576, records: true };
