import { AgentError } from "../../errors.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";
import type { Batch, Cursor, EventLog } from "../../ports/event-log.ts";
import { Fenced, Unavailable } from "../../ports/event-log.ts";
import type { RunAlias, RunEntry, RunQuery } from "../../ports/log-index.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { RunId } from "../../protocol/ids.ts";
import { toRemovedEntry } from "../shared/run-list.ts";
import { Tails } from "../shared/tails.ts";
import { memoryArtifacts } from "./artifacts.ts";
import { listRuns } from "./list-runs.ts";
import { References } from "./references.ts";
import { RequestIndex } from "./request-index.ts";
import { newRun, readPage, sizeOf } from "./run.ts";
import type { Run } from "./run.ts";
import { memorySecrets } from "./secrets.ts";

/** A log in memory, whose data can be opened again. */
export interface MemoryLog extends EventLog {
  artifacts(): ArtifactStore;
  secrets(): SecretStore;
  /**
   * Opens the same data again, as a new process opens the log of a dead one: the old log refuses appends from
   * then on, whether it was closed or not. With this, a test can crash and restart a runtime.
   */
  reopen(): MemoryLog;
}

/** A log in memory, for tests and for agents whose history may be lost with the process. */
export function memoryLog(): MemoryLog {
  const runs = new Map<RunId, Run>();
  const removed = new Set<RunId>();
  const requests = new RequestIndex();
  // By agent and name; the names of agents have no spaces.
  const aliases = new Map<string, RunId>();
  const references = new References();
  const tails = new Tails();
  // One counter for all runs, so that a released run without events leaves no state behind.
  let epochs = 0;
  // Which opening of the log accepts appends.
  let current = 0;
  const artifacts = memoryArtifacts();
  const secrets = memorySecrets();

  function owned(cursor: Cursor): Run {
    const run = runs.get(cursor.runId);
    if (run === undefined || run.epoch !== cursor.epoch) {
      throw new Fenced(`run ${cursor.runId} has another owner`);
    }
    if (run.events.length !== cursor.head || run.records.length !== cursor.records) {
      throw new Fenced(`run ${cursor.runId} has moved on from event ${cursor.head}`);
    }
    return run;
  }

  function append(cursor: Cursor, batch: Batch): Cursor {
    const run = owned(cursor);
    if (removed.has(cursor.runId)) throw new AgentError("gone", `run ${cursor.runId} was removed`);
    const row = batch.run ?? run.row;
    if (row === undefined) throw new TypeError("the first batch of a run needs its row");

    const alias = batch.alias && toKey(batch.alias);
    if (alias !== undefined && (aliases.get(alias) ?? cursor.runId) !== cursor.runId) {
      throw new AgentError("conflict", `another run has the alias ${batch.alias?.name}`);
    }
    const marked = batch.requests && requests.applyMarks(cursor.runId, batch.requests);

    // Nothing below fails.
    if (run.row === undefined) {
      // The map keeps the order in which runs were created.
      runs.delete(cursor.runId);
      runs.set(cursor.runId, run);
    }
    for (const event of batch.events) run.events.push(event);
    for (const record of batch.records) run.records.push(record);
    run.row = row;
    const head = run.events.length;
    const records = run.records.length;
    if (batch.snapshot !== undefined) run.snapshot = { head, records, data: batch.snapshot };
    if (alias !== undefined) {
      aliases.set(alias, cursor.runId);
      run.aliases.push(alias);
    }
    for (const [requestId, entry] of marked ?? []) {
      requests.store(entry);
      run.requests.add(requestId);
    }
    for (const mark of batch.references ?? []) references.apply(cursor.runId, run.references, mark);
    tails.wake(cursor.runId);
    return { runId: cursor.runId, epoch: cursor.epoch, head, records };
  }

  function find(runId: RunId): RunEntry | undefined {
    if (removed.has(runId)) return toRemovedEntry(runId);
    const run = runs.get(runId);
    return run?.row && { ...run.row, runId, head: run.events.length };
  }

  /** The rows that a query selects, in the order in which the runs were created. */
  function* select({ agent, status }: RunQuery): Generator<RunEntry> {
    for (const [runId, { row, events }] of runs) {
      if (row === undefined) continue;
      if (agent !== undefined && row.agent !== agent) continue;
      if (status !== undefined && row.status !== status) continue;
      yield { ...row, runId, head: events.length };
    }
  }

  function remove(cursor: Cursor): readonly string[] {
    const run = owned(cursor);
    const things = [...run.references];
    for (const thing of things) references.apply(cursor.runId, run.references, { thing, dropped: true });
    runs.delete(cursor.runId);
    if (run.row !== undefined) removed.add(cursor.runId);
    for (const alias of run.aliases) aliases.delete(alias);
    for (const requestId of run.requests) requests.remove(requestId, cursor.runId);
    tails.wake(cursor.runId);
    return things.filter((thing) => !references.has(thing));
  }

  function open(): MemoryLog {
    current += 1;
    const own = current;
    // Fences the cursors of the opening before.
    for (const run of runs.values()) run.epoch = 0;
    const checkOpen = (): void => {
      if (own !== current) throw new Unavailable("the log is closed");
    };
    return {
      durability: "memory",
      reliableTail: true,
      async claim(runId) {
        checkOpen();
        const run = runs.get(runId) ?? newRun();
        runs.set(runId, run);
        epochs += 1;
        run.epoch = epochs;
        const entry = find(runId);
        return {
          cursor: { runId, epoch: epochs, head: run.events.length, records: run.records.length },
          ...(entry && { run: entry }),
          ...(run.snapshot && { snapshot: run.snapshot }),
        };
      },
      async append(cursor, batch) {
        checkOpen();
        return append(cursor, batch);
      },
      release({ runId, epoch }) {
        const run = runs.get(runId);
        if (run?.epoch !== epoch) return;
        run.epoch = 0;
        if (run.row === undefined) runs.delete(runId);
      },
      read(runId, options) {
        const run = runs.get(runId);
        return run === undefined ? { events: [], records: [], head: 0 } : readPage(run, options);
      },
      tail: (runId, wake) => tails.add(runId, wake),
      lookup: async (requestId) => requests.find(requestId),
      run: async (runId) => find(runId),
      find: async (alias) => aliases.get(toKey(alias)),
      list: async (query) => listRuns(select(query), query),
      async size(runId) {
        const counted = runId === undefined ? [...runs.values()] : [runs.get(runId)];
        return counted.reduce((bytes, run) => bytes + (run === undefined ? 0 : sizeOf(run)), 0);
      },
      open: async () => requests.open(),
      asleep: async (query) => requests.asleep(query),
      snapshot: async (runId) => runs.get(runId)?.snapshot,
      unreferenced: async (things) => things.filter((thing) => !references.has(thing)),
      async remove(cursor) {
        checkOpen();
        return remove(cursor);
      },
      health: () => (own === current ? { writable: true } : { writable: false, reason: "the log is closed" }),
      artifacts: () => artifacts,
      secrets: () => secrets,
      async close() {
        if (own === current) current += 1;
      },
      reopen: open,
    };
  }

  return open();
}

function toKey({ agent, name }: RunAlias): string {
  return `${agent} ${name}`;
}
