import { AgentError } from "../../errors.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";
import { Fenced, Owned, Unavailable } from "../../ports/event-log.ts";
import type { Cursor, EventLog, Holdings, RemoveOptions, SeenRun } from "../../ports/event-log.ts";
import type { OutboxEntry, RequestEntry, RunEntry } from "../../ports/log-entries.ts";
import type { Batch, NewAlias, OutboxMark, ReferenceMark, RunAlias, RunRow } from "../../ports/log-batch.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { RunId } from "../../protocol/ids.ts";
import { ownerOf } from "../../ports/principal.ts";
import { fromOwnedKey, toOwnedKey } from "../shared/owned-keys.ts";
import { toRemovedEntry } from "../shared/entries.ts";
import type { OutboxQuery, RequestQuery, RunIdQuery } from "../../ports/log-queries.ts";
import { Tails } from "../shared/tails.ts";
import { ScheduleTable } from "./schedules.ts";
import { MemorySpending } from "./spending.ts";
import { MemoryStatistics } from "./statistics.ts";
import { MemoryAudit } from "./audit.ts";
import { memoryArtifacts } from "./artifacts.ts";
import {
  listByCreation,
  listRequests,
  listRuns,
  moveBase,
  newRun,
  readPage,
  recordCount,
  textLengthOf,
  toEntry,
  toListOrder,
} from "./memory-run.ts";
import { WaitTable, RequestTable } from "./tables.ts";
import type { MemoryRun, PlacedRun } from "./memory-run.ts";
import { memorySecrets } from "./secrets.ts";
import type { NodeDirectory, NodePresence, NodeRow } from "../../ports/node-directory.ts";

/** A log in memory, whose data can be opened again. */
export interface MemoryLog extends EventLog {
  artifacts(): ArtifactStore;
  secrets(): SecretStore;
  /**
   * Opens the same data again, as a new process opens the log of a dead one: the old log refuses appends from
   * then on, whether it was closed or not. With this, a test can crash and restart a runtime.
   */
  reopen(): MemoryLog;
  /** Opens the same data for another node, beside this one. With this, a test can run several nodes in one process. */
  openNode(node: string): MemoryLog;
}

/** Options of a log in memory; only several nodes need them. */
interface MemoryLogOptions {
  /** The id of the node; default: none, as for a log of one process. */
  readonly node?: string;
  /** The clock of the table of nodes, in milliseconds. */
  readonly now?: () => number;
}

/** A log in memory, for tests and for agents whose history may be lost with the process. */
export function memoryLog({ node: first, now = Date.now }: MemoryLogOptions = {}): MemoryLog {
  const runs = new Map<RunId, MemoryRun>();
  // The removed runs and their owners.
  const removed = new Map<RunId, string>();
  const requests = new RequestTable();
  // By agent, owner and name; the first two have no spaces.
  const aliases = new Map<string, RunId>();
  // For each thing outside the log the runs that refer to it.
  const referrers = new Map<string, Set<RunId>>();
  const waits = new WaitTable(runs);
  // The runs whose outboxes have entries.
  const senders = new Set<RunId>();
  const schedules = new ScheduleTable();
  const tails = new Tails();
  const spending = new MemorySpending();
  const statistics = new MemoryStatistics();
  const audit = new MemoryAudit((runId) => runs.get(runId)?.row?.agent);
  // One counter for all runs, so that a released run without events leaves no state behind.
  let epochs = 0;
  const artifacts = memoryArtifacts();
  const secrets = memorySecrets();
  const nodes = memoryNodes(now);

  // The runs in the order of the list, until one changes.
  let order: readonly PlacedRun[] | undefined;

  function inOrder(): readonly PlacedRun[] {
    order ??= toListOrder(runs);
    return order;
  }

  function owned(cursor: Cursor): MemoryRun {
    const run = runs.get(cursor.runId);
    if (run === undefined || run.epoch !== cursor.epoch) {
      throw new Fenced(`run ${cursor.runId} has another owner`);
    }
    if (run.events.head !== cursor.head || recordCount(run) !== cursor.records) {
      throw new Fenced(`run ${cursor.runId} has moved on from event ${cursor.head}`);
    }
    return run;
  }

  function append(cursor: Cursor, batch: Batch): Cursor {
    const run = owned(cursor);
    if (removed.has(cursor.runId)) throw new AgentError("gone", `run ${cursor.runId} was removed`);
    const row = batch.run ?? run.row;
    if (row === undefined) throw new TypeError("the first batch of a run needs its row");

    if (batch.alias) checkAlias(cursor.runId, batch.alias);
    const marked = batch.requests && requests.mark(cursor.runId, ownerOf(row), batch.requests);

    // Nothing below fails.
    order = undefined;
    if (run.row === undefined) {
      // The map keeps the order in which runs were created.
      runs.delete(cursor.runId);
      runs.set(cursor.runId, run);
    }
    if (batch.base) moveBase(run, batch.base);
    run.events.add(batch.events);
    for (const record of batch.records) run.records.push(record);
    run.row = row;
    const head = run.events.head;
    const records = recordCount(run);
    if (batch.snapshot !== undefined) run.snapshot = { head, records, data: batch.snapshot };
    if (batch.alias) giveAlias(cursor.runId, run, batch.alias);
    for (const [key, entry] of marked ?? []) {
      requests.store(key, entry);
      run.requests.add(key);
    }
    for (const mark of batch.references ?? []) applyReference(cursor.runId, run, mark);
    if (batch.waits) waits.apply(cursor.runId, run, batch.waits);
    for (const { requestId, phase } of run.waits === undefined ? [] : (marked?.values() ?? []))
      if (phase === "completed") waits.close(cursor.runId, run, requestId);
    if (batch.spent) spending.note(ownerOf(row), batch.spent);
    if (batch.statistics) statistics.note(batch.statistics);
    if (batch.audit) audit.note(cursor.runId, ownerOf(row), batch.audit);
    if (batch.outbox) applyOutbox(cursor.runId, run, batch.outbox);
    if (batch.alias?.from !== undefined) schedules.move(batch.alias.from, cursor.runId);
    if (batch.schedules) schedules.apply(cursor.runId, ownerOf(row), batch.schedules);
    tails.wake(cursor.runId);
    return { runId: cursor.runId, epoch: cursor.epoch, head, records };
  }

  function checkAlias(runId: RunId, alias: NewAlias): void {
    const { name, from } = alias;
    const holder = aliases.get(toKey(alias));
    if (holder === runId || holder === from) return;
    const what = from === undefined ? "another run has" : `run ${from} does not have`;
    throw new AgentError("conflict", `${what} the alias ${name}`);
  }

  function giveAlias(runId: RunId, run: MemoryRun, alias: NewAlias): void {
    const name = toKey(alias);
    const holder = aliases.get(name);
    if (holder === runId) return;
    if (holder !== undefined) {
      runs.get(holder)?.aliases?.delete(name);
      tails.wake(holder);
    }
    aliases.set(name, runId);
    (run.aliases ??= new Set()).add(name);
  }

  function applyReference(runId: RunId, run: MemoryRun, { thing, dropped = false }: ReferenceMark): void {
    const holders = referrers.get(thing) ?? new Set();
    if (dropped) {
      run.references?.delete(thing);
      holders.delete(runId);
    } else {
      (run.references ??= new Set()).add(thing);
      holders.add(runId);
    }
    if (holders.size > 0) referrers.set(thing, holders);
    else referrers.delete(thing);
  }

  function applyOutbox(runId: RunId, run: MemoryRun, marks: readonly OutboxMark[]): void {
    for (const { done = false, ...mark } of marks) {
      const others = (run.outbox ?? []).filter(
        ({ requestId, kind }) => requestId !== mark.requestId || kind !== mark.kind,
      );
      run.outbox = done ? others : [...others, { ...mark, runId }];
    }
    if (run.outbox === undefined || run.outbox.length === 0) senders.delete(runId);
    else senders.add(runId);
  }

  function outboxes({ runId, notOwnedBy, kind, newest }: OutboxQuery): readonly OutboxEntry[] {
    const areDead = kind === "dead";
    const changedAt = (id: RunId): number => runs.get(id)?.row?.updatedAt ?? 0;
    const senderIds = (runId === undefined ? [...senders] : [runId]).filter(
      (id) => !isOwnedBy(id, notOwnedBy),
    );
    if (newest !== undefined) senderIds.sort((a, b) => changedAt(b) - changedAt(a) || (a < b ? -1 : 1));
    const entries = senderIds.flatMap((id) =>
      (runs.get(id)?.outbox ?? [])
        .filter((entry) => (entry.kind === "dead") === areDead)
        .sort((a, b) => {
          const events = newest === undefined ? a.event - b.event : b.event - a.event;
          return events || (a.requestId < b.requestId ? -1 : 1);
        }),
    );
    return entries.slice(0, newest);
  }

  function requestsOf(query: RequestQuery): readonly RequestEntry[] {
    const { runId, limit, oldestFirst = false, after } = query;
    // A set keeps the order in which requests were accepted.
    const all =
      query.removed === true && removed.has(runId) ? requests.removedOf(runId) : runs.get(runId)?.requests;
    const ordered = oldestFirst ? [...(all ?? [])] : [...(all ?? [])].toReversed();
    const owner = removed.get(runId) ?? ownerOf(runs.get(runId)?.row ?? {});
    const page = behind(ordered, after && toOwnedKey(after, owner)).slice(0, limit);
    return page.map(requests.lookup).filter((entry) => entry !== undefined);
  }

  function runIds({ removed: isRemoved = false, after, limit }: RunIdQuery): readonly RunId[] {
    const stored = (): readonly RunId[] =>
      [...runs].filter(([, { row }]) => row !== undefined).map(([runId]) => runId);
    return behind(isRemoved ? [...removed.keys()] : stored(), after).slice(0, limit);
  }

  function holdings(runId: RunId): Holdings {
    const { aliases: names = [], references = [] } = runs.get(runId) ?? {};
    return { aliases: [...names].sort().map(fromKey), references: [...references].sort() };
  }

  function find(runId: RunId): RunEntry | undefined {
    const removedOwner = removed.get(runId);
    if (removedOwner !== undefined) return toRemovedEntry(runId, removedOwner);
    const run = runs.get(runId);
    return run?.row && { ...run.row, ...toEntry(runId, run, requests.lookup) };
  }

  function ownerOfRun(runId: RunId): string | undefined {
    const row = runs.get(runId)?.row;
    return removed.get(runId) ?? (row && ownerOf(row));
  }

  function remove(runId: RunId, run: MemoryRun, { erases = false }: RemoveOptions = {}): readonly string[] {
    const things = [...(run.references ?? [])];
    for (const thing of things) applyReference(runId, run, { thing, dropped: true });
    runs.delete(runId);
    order = undefined;
    waits.remove(runId);
    schedules.remove(runId);
    if (run.row !== undefined) removed.set(runId, ownerOf(run.row));
    for (const alias of run.aliases ?? []) aliases.delete(alias);
    if (erases) audit.erase(runId);
    senders.delete(runId);
    requests.remove(runId, run.requests);
    tails.wake(runId);
    return things.filter((thing) => !referrers.has(thing));
  }

  function removeIdle(seen: readonly SeenRun[]): readonly RunId[] {
    const found: RunId[] = [];
    for (const { runId, head, updatedAt } of seen) {
      const run = runs.get(runId);
      if (run?.row === undefined || run.events.head !== head || run.row.updatedAt !== updatedAt) continue;
      if (isNeeded(runId, run, run.row)) continue;
      remove(runId, run);
      found.push(runId);
    }
    return found;
  }

  function isNeeded(runId: RunId, run: MemoryRun, { status, agent }: RunRow): boolean {
    const isHeld = run.epoch > 0 || run.node !== undefined;
    if (isHeld || status !== "idle" || agent === "" || run.snapshot !== undefined) return true;
    const { aliases: names, references, outbox } = run;
    if ([names?.size, references?.size, outbox?.length].some((count = 0) => count > 0)) return true;
    if (schedules.list({ runId, limit: 1 }, find).schedules.length > 0) return true;
    return [...run.requests].some((key) => {
      const request = requests.lookup(key);
      if (request?.phase !== "completed") return true;
      return request.started !== undefined && request.started === request.completed;
    });
  }

  function isOwnedBy(runId: RunId, nodes: readonly string[] | undefined): boolean {
    if (nodes === undefined) return false;
    const node = runs.get(runId)?.node;
    return node !== undefined && nodes.includes(node);
  }

  /** Opens the data for a node. Of its openings, one after the other, only the `current` one accepts appends. */
  function open(node: string | undefined, openings: { current: number }): MemoryLog {
    openings.current += 1;
    const own = openings.current;
    const isOpen = (): boolean => own === openings.current;
    const checkOpen = (): void => {
      if (!isOpen()) throw new Unavailable("the log is closed");
    };
    return {
      ...(node !== undefined && { node }),
      durability: "memory",
      reliableTail: true,
      async claim(runId, { unlessOwnedBy } = {}) {
        checkOpen();
        const run = runs.get(runId) ?? newRun();
        if (run.node !== undefined && isOwnedBy(runId, unlessOwnedBy)) throw new Owned(runId, run.node);
        runs.set(runId, run);
        epochs += 1;
        run.epoch = epochs;
        run.node = node;
        const entry = find(runId);
        return {
          cursor: { runId, epoch: epochs, head: run.events.head, records: recordCount(run) },
          ...(entry && { run: entry }),
          ...(run.snapshot && { snapshot: run.snapshot }),
        };
      },
      append(cursor, batch) {
        try {
          checkOpen();
          return append(cursor, batch);
        } catch (error) {
          return rejected(error);
        }
      },
      release({ runId, epoch }) {
        const run = runs.get(runId);
        if (run?.epoch !== epoch) return;
        run.epoch = 0;
        run.node = undefined;
        if (run.row === undefined) runs.delete(runId);
      },
      read(runId, options) {
        const run = runs.get(runId);
        return run === undefined ? { events: [], records: [], head: 0 } : readPage(run, options);
      },
      tail: (runId, wake) => tails.add(runId, wake),
      watch: (wake) => tails.addToAll(wake),
      lookup: async (requestId, owner) => requests.find(requestId, owner),
      requests: async (query) => requestsOf(query),
      listRequests: async (query) => listRequests(inOrder(), query, requests.lookup),
      async run(runId, owner) {
        // That of another owner is not even copied: the time must not tell that there is one.
        return owner === undefined || ownerOfRun(runId) === owner ? find(runId) : undefined;
      },
      find: async (alias) => aliases.get(toKey(alias)),
      list: async (query) =>
        query.byCreation === true
          ? listByCreation(runs, query, requests.lookup)
          : listRuns(inOrder(), query, requests.lookup),
      runIds: async (query) => runIds(query),
      holdings: async (runId) => holdings(runId),
      async size(runId) {
        const counted = runId === undefined ? [...runs.values()] : [runs.get(runId)];
        return counted.reduce((bytes, run) => bytes + (run === undefined ? 0 : textLengthOf(run)), 0);
      },
      async open({ notOwnedBy } = {}) {
        const entries = requests.open().filter(({ runId }) => !isOwnedBy(runId, notOwnedBy));
        const begun = new Set(entries.filter(({ phase }) => phase !== "queued").map(({ runId }) => runId));
        return entries
          .filter(({ phase, runId, wakeAt, waitingFor }) =>
            phase === "queued"
              ? !begun.has(runId)
              : phase === "running" && wakeAt === undefined && waitingFor === undefined,
          )
          .sort((a, b) => a.createdAt - b.createdAt);
      },
      async waking({ after = -Infinity, notAfter = Infinity, limit, notOwnedBy }) {
        const found: RequestEntry[] = [];
        for (const entry of requests.waking(after, notAfter)) {
          if (found.length === limit) break;
          if (!isOwnedBy(entry.runId, notOwnedBy)) found.push(entry);
        }
        return found;
      },
      async parked({ after = "", limit }) {
        const entries = requests
          .open()
          .filter(({ runId, parkedOn }) => parkedOn !== undefined && runId > after);
        return entries.sort((a, b) => (a.runId < b.runId ? -1 : 1)).slice(0, limit);
      },
      waits: async (query) => waits.list(query),
      outbox: async (query) => outboxes(query),
      schedules: async (query) => schedules.list(query, find),
      due: async (query) => schedules.due(query, isOwnedBy),
      snapshot: async (runId) => runs.get(runId)?.snapshot,
      unreferenced: async (things) => things.filter((thing) => !referrers.has(thing)),
      async remove(cursor, removeOptions) {
        checkOpen();
        return remove(cursor.runId, owned(cursor), removeOptions);
      },
      async removeIdle(seen) {
        checkOpen();
        return removeIdle(seen);
      },
      audit,
      spending,
      statistics,
      scrub: async () => {},
      health: () => (isOpen() ? { writable: true } : { writable: false, reason: "the log is closed" }),
      nodes: () => nodes,
      artifacts: () => artifacts,
      secrets: () => secrets,
      async close() {
        if (isOpen()) openings.current += 1;
      },
      reopen() {
        // Fences the cursors of the opening before. Those of other nodes stay valid.
        for (const run of runs.values()) if (run.node === node) run.epoch = 0;
        return open(node, openings);
      },
      openNode: (other) => open(other, { current: 0 }),
    };
  }

  return open(first, { current: 0 });
}

function toKey({ owner, agent, name }: RunAlias): string {
  return `${toOwnedKey(agent, owner)} ${name}`;
}

function fromKey(key: string): RunAlias {
  const end = key.indexOf(" ");
  const { name: agent, ...owned } = fromOwnedKey(key.slice(0, end));
  return { agent, name: key.slice(end + 1), ...owned };
}

/** The ids behind one of them. */
function behind<Id>(ids: readonly Id[], after: Id | undefined): readonly Id[] {
  return after === undefined ? ids : ids.slice(ids.indexOf(after) + 1);
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}

/** The table of nodes in memory. */
function memoryNodes(now: () => number): NodeDirectory {
  const rows = new Map<
    string,
    { readonly self: NodePresence; readonly heartbeat: string; readonly atMs: number }
  >();
  let heartbeats = 0;
  const write = (self: NodePresence, nowMs: number): void => {
    heartbeats += 1;
    rows.set(self.node, { self, heartbeat: String(heartbeats), atMs: nowMs });
  };
  return {
    async renew(self) {
      write(self, now());
    },
    async heartbeat(self, forgotten = []) {
      const nowMs = now();
      write(self, nowMs);
      for (const { node, heartbeat } of forgotten)
        if (rows.get(node)?.heartbeat === heartbeat) rows.delete(node);
      return [...rows.values()].map(({ self: row, heartbeat, atMs }): NodeRow => ({
        ...row,
        heartbeat,
        ageMs: nowMs - atMs,
      }));
    },
  };
}
