import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventLog } from "../../../src/ports/event-log.ts";
import type { LogRecord } from "../../../src/ports/log-batch.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import type { RequestId, RunId } from "../../../src/protocol/ids.ts";
import { sqliteLog } from "../../../src/storage/sqlite/sqlite-log.ts";
import { checkChain } from "./check-chain.ts";
import { findUnanswered } from "./find-unanswered.ts";

/** The whole content of a log. */
export interface History {
  readonly runs: ReadonlyMap<string, RunHistory>;
  /** The open requests in the index. */
  readonly open: ReadonlySet<string>;
  /**
   * The first event per run that may be lost: its batch was written, but not yet named by the head file when
   * the process died, so no client got an answer.
   */
  readonly unanswered: ReadonlyMap<string, number>;
  /** The violations of the hash chain. */
  readonly chain: readonly string[];
}

/** The whole content of a run. */
export interface RunHistory {
  readonly events: readonly string[];
  readonly records: readonly LogRecord[];
}

/** Copies a log directory as a crash left it, without the shared memory files. */
export function copyLog(directory: string): { readonly copy: string; remove(): void } {
  const copy = mkdtempSync(join(tmpdir(), "troupe-history-"));
  for (const name of ["log.db", "log.db-wal", "head"]) {
    if (existsSync(join(directory, name))) cpSync(join(directory, name), join(copy, name));
  }
  return { copy, remove: () => rmSync(copy, { recursive: true, force: true }) };
}

/** Reads a log directory that no process has open, without changing it. */
export async function readHistory(directory: string): Promise<History> {
  const { copy, remove } = copyLog(directory);
  try {
    const chain = checkChain(copy);
    const unanswered = findUnanswered(copy);
    const log = sqliteLog(copy);
    try {
      return { ...(await readLog(log)), unanswered, chain };
    } finally {
      await log.close();
    }
  } finally {
    remove();
  }
}

/** Reads a whole log, which must not change at the same time. */
export async function readLog(log: EventLog): Promise<Pick<History, "runs" | "open">> {
  const runs = await readRuns(log);
  return { runs, open: await findOpen(log, runs) };
}

/** The accepted requests that are open in the index, also those that have not started. */
async function findOpen(log: EventLog, runs: ReadonlyMap<string, RunHistory>): Promise<Set<string>> {
  const records = [...runs.values()].flatMap((run) => run.records);
  const accepted = records
    .filter(({ type }) => type === "Accepted")
    .map((record) => (record["accepted"] as unknown as { readonly requestId: RequestId }).requestId);
  const entries = await Promise.all(accepted.map((requestId) => log.lookup(requestId)));
  return new Set(accepted.filter((_, at) => entries[at]?.phase !== "completed"));
}

/** Reads every run of a log completely. */
async function readRuns(log: EventLog): Promise<Map<string, RunHistory>> {
  const runs = new Map<string, RunHistory>();
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const page = await log.list({ limit: 500, ...(cursor !== "" && { cursor }) });
    const histories = await Promise.all(page.runs.map(({ runId }) => readRun(log, runId)));
    for (const [at, { runId }] of page.runs.entries()) runs.set(runId, histories[at] as RunHistory);
    cursor = page.next;
  }
  return runs;
}

async function readRun(log: EventLog, runId: RunId): Promise<RunHistory> {
  const { events, records } = await log.read(runId, { after: 0, records: true });
  return { events: toEncoded(events), records };
}
