import type { Environment } from "../../ports/environment.ts";
import type { EventLog, LogReader, Page } from "../../ports/event-log.ts";
import type { RequestEntry, RunEntry, Snapshot } from "../../ports/log-entries.ts";
import type { Base, LogRecord } from "../../ports/log-batch.ts";
import type { KeptVersion, VersionStore } from "../../ports/version-store.ts";
import { AgentError } from "../../errors.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { fromBase64url, toBase64url } from "../../shared/base64url.ts";
import { pagesOf } from "../../shared/pages.ts";
import { ownerOf } from "../../ports/principal.ts";
import { isHidden } from "../journal/system-runs.ts";

/** A part of a copy of the runs with an open turn, from which these turns can be replayed elsewhere. */
export type CopyPart =
  | {
      readonly type: "run";
      readonly run: RunEntry;
      readonly requests: readonly RequestEntry[];
      readonly snapshot?: Snapshot;
    }
  /** What follows of a run in its log. */
  | {
      readonly type: "entries";
      readonly runId: RunId;
      /** Where the run begins, if its beginning was removed; with its first entries. */
      readonly base?: Base;
      readonly events: readonly string[];
      readonly records: readonly LogRecord[];
    }
  /** A kept version of code. */
  | { readonly type: "version"; readonly version: KeptVersion }
  /** A file of kept versions, in Base64url. */
  | { readonly type: "file"; readonly digest: string; readonly content: string };

/** Runs that are copied before other work of the process comes. */
const RUNS = 20;

/** How many requests of a run are copied: those that are open are the newest. */
const REQUESTS = 1_000;

const PAGE = { limit: 1_000, limitBytes: 1_048_576, records: true };

/**
 * Copies the runs with an open turn, and the kept versions of code. Secret values and files of runs are left out. Runs that
 * change meanwhile are copied as they are when they are read.
 */
export async function* copyOpenTurns(
  log: EventLog,
  environment: Environment,
): AsyncGenerator<CopyPart, void> {
  const seen = new Set<RunId>();
  for (const status of ["waiting", "running", "held"] as const) {
    const query = { status, limit: RUNS } as const;
    for await (const { runs } of pagesOf((start) => log.list({ ...query, ...start }), environment)) {
      for (const run of runs) {
        if (isHidden(run) || run.started === undefined || seen.has(run.runId)) continue;
        seen.add(run.runId);
        yield* copyRun(log, run.runId);
      }
    }
  }
  const versions = log.versions?.();
  const files = new Set<string>();
  for (const version of versions === undefined ? [] : await versions.list()) {
    for (const digest of Object.values(version.files)) {
      if (files.has(digest) || versions === undefined) continue;
      files.add(digest);
      yield { type: "file", digest, content: toBase64url(await versions.read(digest)) };
    }
    yield { type: "version", version };
  }
}

async function* copyRun(log: EventLog, runId: RunId): AsyncGenerator<CopyPart, void> {
  const run = await log.run(runId);
  if (run === undefined || run.removed === true) return;
  const snapshot = await log.snapshot(runId);
  const requests = await log.requests({ runId, limit: REQUESTS });
  yield { type: "run", run, requests, ...(snapshot && { snapshot }) };
  for (let [after, afterRecord] = [0, 0]; ;) {
    const page = await log.read(runId, { after, afterRecord, ...PAGE });
    const { events, records, head, cut = false, base } = page;
    const texts = toEncoded(events);
    const fresh = records.filter(({ n }) => n > afterRecord);
    if (texts.length + fresh.length > 0)
      yield { type: "entries", runId, events: texts, records: fresh, ...(base && { base }) };
    after = (base?.head ?? after) + texts.length;
    afterRecord = fresh.at(-1)?.n ?? afterRecord;
    if (!cut && (texts.length === 0 || after >= head)) return;
  }
}

/** A copy of runs with an open turn, to be read as their log. */
export class LogCopy {
  readonly #runs = new Map<RunId, CopiedRun>();
  /** Several owners can have a request of one id. */
  readonly #requests = new Map<RequestId, RequestEntry[]>();
  readonly #versions: KeptVersion[] = [];
  readonly #files = new Map<string, string>();

  add(part: CopyPart): void {
    switch (part.type) {
      case "run": {
        const { run, requests, snapshot } = part;
        this.#runs.set(run.runId, { run, requests, snapshot, bases: [], events: [], records: [] });
        for (const request of requests)
          this.#requests.set(request.requestId, [...(this.#requests.get(request.requestId) ?? []), request]);
        return;
      }
      case "entries": {
        const run = this.#runs.get(part.runId);
        if (part.base) run?.bases.push(part.base);
        run?.events.push(...part.events);
        run?.records.push(...part.records);
        return;
      }
      case "version":
        this.#versions.push(part.version);
        return;
      case "file":
        this.#files.set(part.digest, part.content);
        return;
      default: {
        const never: never = part;
        return never;
      }
    }
  }

  get log(): LogReader {
    return {
      // Each of its runs has an open turn.
      list: async ({ limit, cursor = "0" }) => {
        const from = Number(cursor);
        const runs = [...this.#runs.values()].map(({ run }) => run);
        const next = from + limit;
        return { runs: runs.slice(from, next), ...(next < runs.length && { next: String(next) }) };
      },
      lookup: async (requestId, owner) => {
        const known = this.#requests.get(requestId) ?? [];
        const own = known.find((request) => ownerOf(request) === ownerOf({ owner }));
        return own ?? (owner === undefined ? known[0] : undefined);
      },
      read: (runId, { after, limit = Infinity, records = false, afterRecord = 0 }) =>
        toPage(this.#runs.get(runId), { after, limit, records, afterRecord }),
      requests: async ({ runId, limit }) => this.#runs.get(runId)?.requests.slice(0, limit) ?? [],
      run: async (runId) => this.#runs.get(runId)?.run,
      snapshot: async (runId) => this.#runs.get(runId)?.snapshot,
    };
  }

  get versions(): VersionStore {
    return {
      list: async () => this.#versions,
      read: async (digest) => {
        const content = fromBase64url(this.#files.get(digest) ?? "?");
        if (content === undefined) throw new AgentError("unavailable", "a kept file is not in the copy");
        return content;
      },
      async keep() {},
      async remove() {},
    };
  }
}

interface CopiedRun {
  readonly run: RunEntry;
  readonly requests: readonly RequestEntry[];
  readonly snapshot: Snapshot | undefined;
  /** Its base, if it has one. */
  readonly bases: Base[];
  readonly events: string[];
  readonly records: LogRecord[];
}

function toPage(
  run: CopiedRun | undefined,
  asked: {
    readonly after: number;
    readonly limit: number;
    readonly records: boolean;
    readonly afterRecord: number;
  },
): Page {
  if (run === undefined) return { events: [], records: [], head: 0 };
  const { after, limit, afterRecord } = asked;
  const [base] = run.bases;
  if (base && after < base.head) return { ...toPage(run, { ...asked, after: base.head }), base };
  const from = after - (base?.head ?? 0);
  const events = run.events.slice(from, from + limit);
  const last = after + events.length;
  const isIn = (record: LogRecord): boolean =>
    record.n > afterRecord && record.after >= after && record.after <= last;
  return {
    events,
    records: asked.records ? run.records.filter(isIn) : [],
    head: (base?.head ?? 0) + run.events.length,
  };
}
