import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventLog, LogRecord } from "../../src/ports/event-log.ts";
import { requestIdOf, typeOf } from "../../src/protocol/encode.ts";
import type { RequestId, RunId } from "../../src/protocol/ids.ts";
import { sqliteLog } from "../../src/storage/sqlite/sqlite-log.ts";
import { checkChain } from "./check-chain.ts";

/** All that a log holds. */
export interface History {
  readonly runs: ReadonlyMap<string, RunHistory>;
  /** The requests that the index shows as open. */
  readonly open: ReadonlySet<string>;
  /** What is wrong with the chain of its batches. */
  readonly chain: readonly string[];
}

/** All that a log holds of a run. */
export interface RunHistory {
  readonly events: readonly string[];
  readonly records: readonly LogRecord[];
}

/** Copies a log directory as a crash left it, without the memory that its processes shared. */
export function copyLog(directory: string): { readonly copy: string; remove(): void } {
  const copy = mkdtempSync(join(tmpdir(), "troupe-history-"));
  for (const name of ["log.db", "log.db-wal", "head"]) {
    if (existsSync(join(directory, name))) cpSync(join(directory, name), join(copy, name));
  }
  return { copy, remove: () => rmSync(copy, { recursive: true, force: true }) };
}

/** Reads a log directory that no process has open, and leaves it as it is. */
export async function readHistory(directory: string): Promise<History> {
  const { copy, remove } = copyLog(directory);
  try {
    const chain = checkChain(copy);
    const log = sqliteLog(copy);
    try {
      const runs = await readRuns(log);
      return { runs, open: await findOpen(log, runs), chain };
    } finally {
      await log.close();
    }
  } finally {
    remove();
  }
}

/** Which of the requests that have started the index shows as open. */
async function findOpen(log: EventLog, runs: ReadonlyMap<string, RunHistory>): Promise<Set<string>> {
  const open = new Set<string>();
  for (const { events } of runs.values()) {
    for (const text of events) {
      if (typeOf(text) !== "RequestStarted") continue;
      const requestId = requestIdOf(text) as RequestId;
      if ((await log.lookup(requestId))?.phase !== "completed") open.add(requestId);
    }
  }
  return open;
}

/** Reads every run of a log whole. */
async function readRuns(log: EventLog): Promise<Map<string, RunHistory>> {
  const runs = new Map<string, RunHistory>();
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const page = await log.list({ limit: 500, ...(cursor !== "" && { cursor }) });
    for (const { runId } of page.runs) runs.set(runId, await readRun(log, runId));
    cursor = page.next;
  }
  return runs;
}

async function readRun(log: EventLog, runId: RunId): Promise<RunHistory> {
  const { events, records } = await log.read(runId, { after: 0, records: true });
  return { events, records };
}
