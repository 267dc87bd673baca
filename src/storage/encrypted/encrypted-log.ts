import type { LastTurn } from "../../protocol/answers/status.ts";
import type { ArtifactReader, ArtifactStore } from "../../ports/artifact-store.ts";
import type { Encryption } from "../../ports/encryption.ts";
import type { Claim, Cursor, EventLog, LogReader } from "../../ports/event-log.ts";
import type { Batch, LogRecord, RunRow } from "../../ports/log-batch.ts";
import type { ScheduleEntry } from "../../ports/log-entries.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { LruMap } from "../../shared/lru-map.ts";
import { decryptedArtifacts, encryptedArtifacts } from "./encrypted-artifacts.ts";
import {
  EncryptedReader,
  placeOfBase,
  placeOfEvent,
  placeOfRecord,
  unlessUnreadable,
} from "./encrypted-reader.ts";
import { KeyRing } from "./key-ring.ts";
import { sealEvents } from "./sealed-events.ts";

/** A log and its files of which the engines get only what is encrypted with the keys of owners. */
export function encryptedStores<Stores extends { readonly log: EventLog; readonly artifacts: ArtifactStore }>(
  stores: Stores,
  encryption: Encryption | undefined,
): Stores {
  if (encryption === undefined) return stores;
  const ring = new KeyRing(encryption);
  const reader = new EncryptedReader(stores.log, ring);
  const artifacts = encryptedArtifacts(stores.artifacts, ring, (runId) => reader.ownerOf(runId));
  return { ...stores, log: encryptedLog(stores.log, ring, reader), artifacts };
}

/** A log and its files that are only read, without what they were encrypted with. */
export function decryptedStores<
  Stores extends { readonly log: LogReader; readonly artifacts: ArtifactReader },
>(stores: Stores, encryption: Encryption | undefined): Stores {
  if (encryption === undefined) return stores;
  const ring = new KeyRing(encryption);
  return {
    ...stores,
    log: new EncryptedReader(stores.log, ring),
    artifacts: decryptedArtifacts(stores.artifacts, ring),
  };
}

/**
 * A log whose engine gets only what is encrypted. What was stored before is read as it is. A list shows a run that cannot be read
 * without its input and metadata; to read or continue it fails with `unavailable`.
 */
function encryptedLog(log: EventLog, ring: KeyRing, runs: EncryptedReader): EventLog {
  /** What was sealed of the rows of claimed runs: engines write a value again unless it is the same object. */
  const rows = new LruMap<RunId, SealedRow>(RUNS_KNOWN);
  /** What is being sealed and appended. */
  const running = new Set<Promise<unknown>>();
  /** The newest of them of each run. */
  const newest = new Map<RunId, Promise<unknown>>();
  /** The claimed runs of which something could not be opened, and why. */
  const unreadable = new Map<RunId, unknown>();

  async function claim(...[runId, options]: Parameters<EventLog["claim"]>): Promise<Claim> {
    const { run, snapshot, ...claimed } = await log.claim(runId, options);
    unreadable.delete(runId);
    const note = (thrown: unknown): void => void unreadable.set(runId, thrown);
    const row = run && (await runs.openRow(run, note));
    if (run !== undefined && row !== undefined) rows.set(runId, { plain: row, stored: run });
    const opened = snapshot && (await runs.openSnapshot(runId, snapshot).catch(unlessUnreadable(note)));
    return { ...claimed, ...(row && { run: row }), ...(opened && { snapshot: opened }) };
  }

  function append(cursor: Cursor, batch: Batch): Promise<Cursor> {
    // Those of a run are appended in their order, however long each takes to be sealed.
    const before = newest.get(cursor.runId);
    const sealing = prepare(cursor, batch);
    sealing.catch(() => {});
    const appended = Promise.resolve(before?.catch(() => {}))
      .then(async () => log.append(cursor, await sealing))
      .finally(() => {
        running.delete(appended);
        if (newest.get(cursor.runId) === appended) newest.delete(cursor.runId);
      });
    running.add(appended);
    newest.set(cursor.runId, appended);
    return appended;
  }

  async function prepare(cursor: Cursor, batch: Batch): Promise<Batch> {
    const { runId } = cursor;
    // A run of which not everything can be read is not continued with the rest.
    if (unreadable.has(runId)) throw unreadable.get(runId);
    const owner = batch.run === undefined ? await runs.ownerOf(runId) : runs.note(runId, batch.run);
    return (await ring.newest(owner)) === undefined ? batch : seal(owner, cursor, batch);
  }

  async function seal(owner: string, { runId, head }: Cursor, batch: Batch): Promise<Batch> {
    const { events, records, run, snapshot, base, schedules } = batch;
    const breaks = new Set(records.map(({ after }) => after));
    const [sealedEvents, sealedRecords, row, sealedSnapshot, sealedBase, sealedSchedules] = await Promise.all(
      [
        sealEvents(events, {
          head: base === undefined ? head : Math.max(head, base.head),
          breaks,
          seal: async (id, text) => (await ring.seal(owner, placeOfEvent(runId, id), text)) ?? "",
        }),
        Promise.all(records.map((record) => sealRecord(owner, runId, record))),
        run && sealRow(owner, runId, run),
        snapshot === undefined ? undefined : ring.sealJson(owner, `snapshot ${runId}`, snapshot),
        base === undefined ? undefined : ring.sealJson(owner, placeOfBase(runId, base), base.data),
        schedules &&
          Promise.all(
            schedules.map(async ({ data, ...mark }) => ({
              ...mark,
              ...(data !== undefined && { data: await sealFields(owner, `schedule ${mark.id}`, data) }),
            })),
          ),
      ],
    );
    return {
      ...batch,
      events: sealedEvents,
      records: sealedRecords,
      ...(row && { run: row }),
      ...(sealedSnapshot !== undefined && { snapshot: sealedSnapshot }),
      ...(base && sealedBase !== undefined && { base: { ...base, data: sealedBase } }),
      ...(sealedSchedules && { schedules: sealedSchedules }),
    };
  }

  async function sealRecord(owner: string, runId: RunId, record: LogRecord): Promise<LogRecord> {
    const { n, after, type, ...fields } = record;
    if (Object.keys(fields).length === 0) return record;
    return { n, after, type, ...(await sealFields(owner, placeOfRecord(runId, n), fields as JsonObject)) };
  }

  async function sealRow(owner: string, runId: RunId, row: RunRow): Promise<RunRow> {
    const before = rows.get(runId);
    const field = async (name: "initialInput" | "metadata"): Promise<Json> => {
      const value = row[name];
      if (before !== undefined && before.plain[name] === value) return before.stored[name];
      return value === null || isEmpty(value) ? value : ring.sealJson(owner, `${name} ${runId}`, value);
    };
    const [initialInput, metadata] = await Promise.all([field("initialInput"), field("metadata")]);
    const { error_message: _, result: __, ...lastTurn } = row.lastTurn ?? {};
    const stored = {
      ...row,
      initialInput,
      metadata: metadata as JsonObject,
      // A result and an error can say what the run was told.
      ...(row.lastTurn && { lastTurn: lastTurn as LastTurn }),
    };
    rows.set(runId, { plain: row, stored });
    return stored;
  }

  async function sealFields(owner: string, place: string, fields: JsonObject): Promise<JsonObject> {
    return (await ring.sealJson(owner, place, fields)) as JsonObject;
  }

  async function openSchedules(entries: readonly ScheduleEntry[]): Promise<readonly ScheduleEntry[]> {
    const opened = await Promise.all(
      entries.map(async (entry) => {
        const data = ring.openJson(ownerOf(entry), `schedule ${entry.id}`, entry.data);
        const readable = await data.catch(unlessUnreadable(() => undefined));
        return readable === undefined ? undefined : { ...entry, data: readable as JsonObject };
      }),
    );
    return opened.filter((entry) => entry !== undefined);
  }

  return {
    ...(log.node !== undefined && { node: log.node }),
    durability: log.durability,
    reliableTail: log.reliableTail,
    ...(log.sharesRows !== undefined && { sharesRows: log.sharesRows }),
    audit: log.audit,
    spending: log.spending,
    statistics: log.statistics,
    list: runs.list,
    run: runs.run,
    lookup: runs.lookup,
    requests: runs.requests,
    listRequests: (query) => log.listRequests(query),
    read: runs.read,
    snapshot: runs.snapshot,
    claim,
    append,
    release(cursor) {
      unreadable.delete(cursor.runId);
      rows.delete(cursor.runId);
      log.release(cursor);
    },
    async waits(query) {
      const page = await log.waits(query);
      const isShown = await Promise.all(page.waits.map((wait) => runs.canShow(wait)));
      return { ...page, waits: page.waits.filter((_, index) => isShown[index]) };
    },
    async schedules(query) {
      const page = await log.schedules(query);
      return { ...page, schedules: await openSchedules(page.schedules) };
    },
    due: async (query) => openSchedules(await log.due(query)),
    tail: (runId, wake) => log.tail(runId, wake),
    watch: (wake) => log.watch(wake),
    find: (alias) => log.find(alias),
    runIds: (query) => log.runIds(query),
    holdings: (runId) => log.holdings(runId),
    size: (runId) => log.size(runId),
    open: (query) => log.open(query),
    waking: (query) => log.waking(query),
    parked: (query) => log.parked(query),
    outbox: (query) => log.outbox(query),
    unreferenced: (things) => log.unreferenced(things),
    remove: (cursor, options) => log.remove(cursor, options),
    removeIdle: (seen) => log.removeIdle(seen),
    scrub: () => log.scrub(),
    ...(log.isBeside && { isBeside: log.isBeside.bind(log) }),
    ...(log.indexed && { indexed: log.indexed.bind(log) }),
    health: () => log.health(),
    async close() {
      await Promise.allSettled(running);
      await log.close();
    },
    ...(log.figures && { figures: log.figures.bind(log) }),
    ...(log.nodes && { nodes: log.nodes.bind(log) }),
    ...(log.wakes && { wakes: log.wakes.bind(log) }),
    ...(log.secrets && { secrets: log.secrets.bind(log) }),
    ...(log.versions && { versions: log.versions.bind(log) }),
  };
}

/** The values of a row, and what is stored of them. */
interface SealedRow {
  readonly plain: Pick<RunRow, "initialInput" | "metadata">;
  readonly stored: Pick<RunRow, "initialInput" | "metadata">;
}

function isEmpty(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

const RUNS_KNOWN = 10_000;
