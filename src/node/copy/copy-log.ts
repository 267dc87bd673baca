import type { RunId } from "../../protocol/ids.ts";
import type { AuditPage, AuditTrail } from "../../ports/audit.ts";
import type { ArtifactStore, StoredArtifact } from "../../ports/artifact-store.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { VersionStore } from "../../ports/version-store.ts";
import { NOTHING_SPENT } from "../../ports/spending.ts";
import type { Spending, SpentEntry, SpentKey } from "../../ports/spending.ts";
import type { Statistics, StatisticsEntry } from "../../ports/statistics.ts";
import { copyRun } from "./copy-run.ts";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { AgentError, fieldOf, isInstance, messageOf } from "../../errors.ts";
import { Unavailable } from "../../ports/event-log.ts";
import { toStoredName } from "../../shared/stored-name.ts";
import { mapConcurrent } from "../../shared/map-concurrent.ts";

/** A log with its files and secrets. */
export interface Store {
  readonly log: EventLog;
  readonly artifacts: ArtifactStore;
  readonly secrets: SecretStore;
  /** The kept versions of the code of agents; absent if the log keeps none. */
  readonly versions?: VersionStore | undefined;
}

/** Something that is in both stores now, and was compared. */
export interface CopiedItem {
  readonly kind:
    | "run"
    | "removed run"
    | "artifact"
    | "secret"
    | "version"
    | "spending"
    | "statistics"
    | "audit";
  readonly id: string;
  /** False if it was in the target before. An item of the kind `audit` is up to 500 entries of the audit trail, and one of `spending` or `statistics` is up to 500 days of owners and agents, or hours of turns and completions. */
  readonly isNew: boolean;
  /** The number of events of a run. */
  readonly events: number;
  /** The bytes of its events and records, or of the file or the value. */
  readonly bytes: number;
}

/**
 * Copies everything from a store to another one and compares each thing by its SHA-256. What the target has already is
 * only compared, so an interrupted copy is continued by a new one. Fails with `conflict` at the first thing that differs.
 * No other process may have one of the stores open. A target that keeps no versions gets none.
 *
 * Runs are last, because they refer to the other things.
 */
export async function* copyLog(from: Store, to: Store): AsyncGenerator<CopiedItem, void> {
  yield* copySecrets(from.secrets, to.secrets);
  if (from.versions && to.versions) yield* copyVersions(from.versions, to.versions);
  yield* mapConcurrent(from.artifacts.list(), AT_ONCE, (artifact) =>
    named(`artifact ${artifact.artifactId}`, () => copyArtifact(artifact, from.artifacts, to.artifacts)),
  );
  // The target lists runs in the order of their first appends, so these follow one another.
  let last: Promise<void> = Promise.resolve();
  yield* mapConcurrent(runIdsOf(from.log), AT_ONCE, (runId) => {
    const begun = Promise.withResolvers<void>();
    const place = { isNext: last, begun: begun.resolve };
    last = begun.promise;
    const copied = named(`run ${runId}`, () => copyRun(runId, from.log, to.log, place));
    // No run begins after one that has failed.
    copied.then(() => begun.resolve(), begun.reject);
    last.catch(() => {});
    return copied;
  });
  yield* copySpending(from.log.spending, to.log.spending);
  yield* copyStatistics(from.log.statistics, to.log.statistics);
  yield* copyAudit(from.log.audit, to.log.audit);
}

/** Enough for a database to commit several appends together. */
const AT_ONCE = 8;

/** Copies who did what, the oldest first. An interrupted copy has the first entries of the source. */
async function* copyAudit(from: AuditTrail, to: AuditTrail): AsyncGenerator<CopiedItem, void> {
  const read = (trail: AuditTrail, limit: number, cursor: string | undefined): Promise<AuditPage> =>
    trail.list({ oldestFirst: true, limit, ...(cursor !== undefined && { cursor }) });
  let [own, theirs]: (string | undefined)[] = [];
  let isPast = false;
  do {
    const source = await read(from, ENTRIES, own);
    const target: AuditPage = isPast ? { entries: [] } : await read(to, ENTRIES, theirs);
    const known = target.entries.length;
    for (const [at, entry] of target.entries.entries()) {
      if (JSON.stringify(entry) === JSON.stringify(source.entries[at])) continue;
      throw new AgentError("conflict", "the audit trail is in both stores and differs", {
        hint: "it was not changed; copy to an empty target",
      });
    }
    await to.add(source.entries.slice(known));
    if (source.entries.length > 0) yield { kind: "audit", id: "", isNew: known === 0, events: 0, bytes: 0 };
    isPast ||= target.next === undefined;
    [own, theirs] = [source.next, target.next];
  } while (own !== undefined);
}

const ENTRIES = 500;

/** Copies what was spent, so that budgets of this day and older ones are what they were. */
async function* copySpending(from: Spending, to: Spending): AsyncGenerator<CopiedItem, void> {
  for (let after: SpentKey | undefined; ;) {
    const entries = await from.list({ limit: ENTRIES, ...(after && { after }) });
    const last = entries.at(-1);
    if (last === undefined) return;
    const added: SpentEntry[] = [];
    for (const entry of entries) {
      const { owner, agent, day, ...spent } = entry;
      const known = await to.on(entry);
      if (isDeepStrictEqual(known, spent)) continue;
      if (!isDeepStrictEqual(known, NOTHING_SPENT)) {
        const who = agent === undefined ? owner : `agent ${agent} of ${owner}`;
        throw new AgentError(
          "conflict",
          `what ${who} has spent on day ${day} is in both stores and differs`,
          {
            hint: "it was not changed; copy to an empty target",
          },
        );
      }
      added.push(entry);
    }
    await to.put(added);
    yield { kind: "spending", id: "", isNew: added.length > 0, events: 0, bytes: 0 };
    after = last;
  }
}

/** Copies what turns and completions have done. An interrupted copy has the first entries of the source. */
async function* copyStatistics(from: Statistics, to: Statistics): AsyncGenerator<CopiedItem, void> {
  for (let after: StatisticsEntry | undefined; ;) {
    const query = { limit: ENTRIES, ...(after && { after }) };
    const entries = await from.list(query);
    const last = entries.at(-1);
    if (last === undefined) return;
    const known = await to.list(query);
    for (const [at, entry] of known.entries()) {
      if (isDeepStrictEqual(entry, entries[at])) continue;
      throw new AgentError("conflict", "the statistics are in both stores and differ", {
        hint: "they were not changed; copy to an empty target",
      });
    }
    await to.put(entries.slice(known.length));
    yield { kind: "statistics", id: "", isNew: known.length === 0, events: 0, bytes: 0 };
    after = last;
  }
}

/** Copies a file with its runs, and compares it. */
async function copyArtifact(
  artifact: StoredArtifact,
  from: ArtifactStore,
  to: ArtifactStore,
): Promise<CopiedItem> {
  const { artifactId, runIds, createdAt, name, mimeType, sizeBytes } = artifact;
  const isNew = (await to.get(artifactId)) === undefined;
  const [runId, ...others] = runIds;
  if (isNew) {
    await to.put({
      artifactId,
      ...(runId !== undefined && { runId }),
      ...(createdAt !== undefined && { createdAt }),
      name,
      mimeType,
      body: from.read(artifactId),
      limitBytes: Number.MAX_SAFE_INTEGER,
    });
  }
  // One after the other, in their order; an interrupted copy can lack some.
  for (const other of isNew ? others : runIds) await to.attach([artifactId], other);
  const copy = await to.get(artifactId);
  const isEqual =
    copy !== undefined &&
    toFacts(copy) === toFacts(artifact) &&
    (await digest(to, artifactId)) === (await digest(from, artifactId));
  if (!isEqual) {
    if (isNew) throw new AgentError("internal", "its copy is not equal to it");
    throw new AgentError("conflict", "it is in both stores and differs", {
      hint: "its bytes were not overwritten; copy to an empty target",
    });
  }
  return { kind: "artifact", id: artifactId, isNew, events: 0, bytes: sizeBytes };
}

function toFacts({ runIds, createdAt, name, mimeType, sizeBytes }: StoredArtifact): string {
  // A store of an earlier version has names as they were given.
  return JSON.stringify([runIds.toSorted(), createdAt ?? null, toStoredName(name), mimeType, sizeBytes]);
}

async function digest(store: ArtifactStore, artifactId: StoredArtifact["artifactId"]): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of store.read(artifactId)) hash.update(chunk);
  return hash.digest("hex");
}

/** Copies the values of secrets, and compares them. */
async function* copySecrets(from: SecretStore, to: SecretStore): AsyncGenerator<CopiedItem, void> {
  const known = new Set(await to.names());
  const names = await from.names();
  // Some at once: a file of secrets is written whole with each change.
  for (let start = 0; start < names.length; start += SECRETS_AT_ONCE) {
    const values = new Map<string, string>();
    for (const name of names.slice(start, start + SECRETS_AT_ONCE)) {
      const value = await from.get(name);
      if (value !== undefined) values.set(name, value);
    }
    const added = [...values].filter(([name]) => !known.has(name));
    if (added.length > 0) await to.put(Object.fromEntries(added));
    for (const [name, value] of values) {
      if ((await to.get(name)) !== value) throw differs(name);
      yield { kind: "secret", id: name, isNew: !known.has(name), events: 0, bytes: Buffer.byteLength(value) };
    }
  }
}

const SECRETS_AT_ONCE = 200;

/** Copies kept versions, the oldest first. A store compares each file with its digest when it is read. */
async function* copyVersions(from: VersionStore, to: VersionStore): AsyncGenerator<CopiedItem, void> {
  const known = new Set((await to.list()).map(({ id }) => id));
  for (const version of (await from.list()).toReversed()) {
    const { id, files } = version;
    const isNew = !known.has(id);
    const bytes = await named(`version ${id}`, async () => {
      if (isNew) await to.keep(version, (path) => from.read(files[path] ?? ""));
      let sum = 0;
      for (const digest of new Set(Object.values(files))) sum += (await to.read(digest)).byteLength;
      return sum;
    });
    yield { kind: "version", id, isNew, events: 0, bytes };
  }
}

function differs(name: string): AgentError {
  return new AgentError("conflict", `secret ${name} is in both stores and differs`, {
    hint: "it was not overwritten; copy to an empty target",
  });
}

/** Does a work; an error names the thing that could not be copied. */
async function named<Result>(thing: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const message = `${thing} cannot be copied: ${messageOf(error)}`;
    if (isInstance(error, AgentError)) {
      throw new AgentError(error.code, message, { ...error.details, cause: error });
    }
    // What a file system reports has a code.
    const isReported = isInstance(error, Unavailable) || typeof fieldOf(error, "code") === "string";
    throw isReported ? new Unavailable(message, { cause: error }) : error;
  }
}

/** The ids of all runs in the order of their first appends, then those of the removed runs. */
async function* runIdsOf(log: EventLog): AsyncGenerator<RunId, void> {
  for (const removed of [false, true]) {
    for (let after: RunId | undefined; ;) {
      const page = await log.runIds({ removed, limit: RUNS, ...(after !== undefined && { after }) });
      yield* page;
      if (page.length < RUNS) break;
      after = page.at(-1);
    }
  }
}

/** The ids that are read at once. */
const RUNS = 500;
