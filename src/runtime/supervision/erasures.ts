import { AgentError, isInstance } from "../../errors.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";
import type { NewAuditEntry } from "../../ports/audit.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import { ownerOf, toOwned } from "../../ports/principal.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { By } from "../../protocol/actors.ts";
import type { ForkedFrom } from "../../protocol/events/events.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import { canonical } from "../../protocol/json.ts";
import { pause } from "../../shared/clock.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";
import { pagesOf } from "../../shared/pages.ts";
import type { ErasedThings } from "../api.ts";
import type { RunCommands } from "../commands/run-commands.ts";
import { isWaitingFile } from "../commands/uploads.ts";
import { isHidden, receiversKey, WEBHOOK_AGENT } from "../journal/system-runs.ts";
import { sendMessage } from "../run/messages.ts";
import { readRenewed } from "../run/renewal.ts";
import type { HostContext } from "../run-context.ts";
import { API_KEYS, API_KEY_USES, ERASURES } from "../secrets/secret-prefixes.ts";

/** Rows that are read at a time. */
const PAGE = 500;

/** The runs that are erased at once: a log commits their removals together, and turns use it too. */
const AT_ONCE = 32;

/** The requests of a run that are read at a time. */
const OPEN_REQUESTS = 1_000;

/** How long the turns of a run may take to end, in milliseconds: longer than their cleanup. */
const TURN_MS = 120_000;

/** Until another node has stored what it refused before, in milliseconds. */
const REFUSALS_MS = 2_000;

/** How often what matches is looked for, because runs can come while others are erased. */
const ROUNDS = 10;

/**
 * Erases runs with all that belongs to them, from the log and from its files. What is to be erased is stored first, in the
 * secret store, because the log must not have it: an erasure that a crash interrupts goes on at the next start.
 */
export class Erasures {
  readonly #context: HostContext;
  readonly #runs: RunCommands;
  readonly #secrets: SecretStore;
  readonly #artifacts: ArtifactStore;
  readonly #storeRefusals: () => Promise<void>;

  #stopped = false;

  constructor(context: HostContext, runs: RunCommands, { secrets, artifacts, storeRefusals }: ErasedStores) {
    this.#context = context;
    this.#runs = runs;
    this.#secrets = secrets;
    this.#artifacts = artifacts;
    this.#storeRefusals = storeRefusals;
  }

  /** Erases what matches all that is given. Resolves with the number of erased runs. */
  async erase(things: ErasedThings, who: Eraser): Promise<number> {
    const { environment, log } = this.#context;
    const given = checked(things);
    const name = `${ERASURES}${environment.newId()}`;
    const entry = who.by && toEntry(given, { at: environment.now(), by: who.by, owner: who.owner });
    const erasure: StoredErasure = { ...given, ...(entry && { entry }) };
    await this.#secrets.put({ [name]: JSON.stringify(erasure) });
    if (entry) await log.audit.add([entry]);
    return this.#finish(name, erasure);
  }

  /** Continues what an earlier process has begun. Never rejects. */
  async resume(): Promise<void> {
    const { router, telemetry } = this.#context;
    if (!router.leads("erasure")) return;
    try {
      for (const name of await this.#secrets.names()) {
        if (!name.startsWith(ERASURES)) continue;
        const text = await this.#secrets.get(name);
        if (text !== undefined) await this.#finish(name, JSON.parse(text) as StoredErasure);
      }
    } catch (error) {
      if (!this.#stopped) telemetry.fault("an erasure that was interrupted could not be continued", error);
    }
  }

  /** What is not erased yet is left to the next start. */
  stop(): void {
    this.#stopped = true;
  }

  async #finish(name: string, { entry, ...things }: StoredErasure): Promise<number> {
    const { environment, log, router } = this.#context;
    const { owner, ...narrower } = things;
    const isWhole = owner !== undefined && Object.keys(narrower).length === 0;
    // First, so that its programs make no further runs.
    if (isWhole) await this.#eraseKeys(owner);
    let erased = 0;
    for (let round = 1; ; round += 1) {
      const found = await this.#find(things);
      if (found.length === 0) break;
      if (round > ROUNDS) {
        throw new AgentError("conflict", "new runs keep coming while what there is is erased", {
          hint: "keep the owner from making requests, and erase again",
        });
      }
      await forEachConcurrent(found, AT_ONCE, async (runId) => {
        // Those of a whole owner are among the runs that are found.
        if (!isWhole) await this.#eraseReceivers(runId);
        await this.#eraseRun(runId);
      });
      erased += found.length;
    }
    if (isWhole) {
      await this.#eraseUploads(owner, name.replace(ERASURES, "erasing-"));
      await log.spending.remove(owner);
      await log.statistics.remove(owner);
      // What its principals were refused a moment ago would otherwise be stored behind this.
      await this.#storeRefusals();
      await log.audit.remove({ owner });
      if (router.members().some(({ isSelf, isAlive }) => isAlive && !isSelf)) {
        // The other nodes store theirs within a second too.
        await pause(environment, REFUSALS_MS);
        await log.audit.remove({ owner });
      }
      // That of an admin of this owner was among them.
      if (entry?.owner === owner) await log.audit.add([entry]);
    }
    await log.scrub();
    await this.#secrets.remove([name]);
    return erased;
  }

  /** Removes the API keys of an owner: at once on this node, within two seconds on others. */
  async #eraseKeys(owner: string): Promise<void> {
    const secrets = this.#secrets;
    const own: string[] = [];
    for (const name of await secrets.names()) {
      if (!name.startsWith(API_KEYS)) continue;
      const text = await secrets.get(name);
      const key = text === undefined ? undefined : (JSON.parse(text) as { readonly owner?: string });
      if (key === undefined || ownerOf(key) !== owner) continue;
      own.push(name, API_KEY_USES + name.slice(API_KEYS.length));
    }
    if (own.length > 0) await secrets.remove(own);
  }

  /** Removes the files of an owner that belong to no run yet. They are attached to one that never is, and removed with it. */
  async #eraseUploads(owner: string, runId: RunId): Promise<void> {
    const artifacts = this.#artifacts;
    const found: ArtifactId[] = [];
    for await (const artifact of artifacts.list({ waiting: true }))
      if (await isWaitingFile(artifact, owner)) found.push(artifact.artifactId);
    if (found.length > 0) await artifacts.attach(found, runId);
    // Also what a process has attached that died before this.
    await artifacts.removeRun(runId);
  }

  async #find({ owner, agent, runId, key, metadata }: ErasedThings): Promise<readonly RunId[]> {
    const { environment, log } = this.#context;
    const values = Object.entries(metadata ?? {}).map(([name, value]) => [name, canonical(value)] as const);
    const matches = (run: RunEntry): boolean =>
      run.removed !== true &&
      (owner === undefined || ownerOf(run) === owner) &&
      (agent === undefined || run.agent === agent) &&
      values.every(
        ([name, value]) => Object.hasOwn(run.metadata, name) && canonical(run.metadata[name]) === value,
      );
    if (runId !== undefined) {
      const run = await log.run(runId);
      return run !== undefined && !isHidden(run) && matches(run) ? [runId] : [];
    }
    const found: RunEntry[] = [];
    const query = {
      limit: PAGE,
      ...(owner !== undefined && { owner }),
      ...(agent !== undefined && { agent }),
    };
    for await (const { runs } of pagesOf((start) => log.list({ ...query, ...start }), environment))
      for (const run of runs) if (!isHidden(run) && matches(run)) found.push(run);
    return key === undefined ? found.map((run) => run.runId) : this.#ofKey(found, key);
  }

  /**
   * Those of the runs in which the actor of a key lives or has lived: a renewed run names the next one, and a fork with a key has taken
   * it from the run that it names.
   */
  async #ofKey(runs: readonly RunEntry[], key: string): Promise<readonly RunId[]> {
    const { log } = this.#context;
    const next: (readonly [from: RunId, to: RunId])[] = [];
    for (const { runId, metadata } of runs) {
      const forked = metadata["forked_from"] as unknown as ForkedFrom | undefined;
      if (forked !== undefined) next.push([forked.run_id, runId]);
    }
    await forEachConcurrent(runs, AT_ONCE, async (run) => {
      const renewed = run.alias === undefined ? await readRenewed(log, run) : undefined;
      if (renewed !== undefined) next.push([run.runId, renewed.to]);
    });
    const known = new Set(runs.map(({ runId }) => runId));
    const own = new Set(runs.filter(({ alias }) => alias === key).map(({ runId }) => runId));
    for (let count = -1; count !== own.size;) {
      count = own.size;
      for (const [from, to] of next) if (own.has(to) && known.has(from)) own.add(from);
    }
    return [...own];
  }

  /** Removes a run, whose open turns are canceled first. */
  async #eraseRun(runId: RunId): Promise<void> {
    const { environment } = this.#context;
    const until = environment.monotonic() + TURN_MS;
    for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, 1_000)) {
      if (this.#stopped) throw new AgentError("unavailable", "the server is stopping", { retryAfterS: 1 });
      try {
        await this.#endTurns(runId);
        return await this.#runs.remove(runId, "erasure");
      } catch (error) {
        if (!isInstance(error, AgentError)) throw error;
        if (error.code === "gone" || error.code === "not_found") return;
        if (error.code !== "conflict" || environment.monotonic() >= until) throw error;
      }
      await pause(environment, pauseMs);
    }
  }

  /**
   * Removes the runs with the receivers of the requests of a run; before the run itself, which an erasure that a crash
   * interrupts finds again.
   */
  async #eraseReceivers(runId: RunId): Promise<void> {
    const { agents, log } = this.#context;
    const run = agents.find(WEBHOOK_AGENT) && (await log.run(runId));
    if (run === undefined || run.agent === WEBHOOK_AGENT) return;
    for (let after: RequestId | undefined; ;) {
      const limit = OPEN_REQUESTS;
      const page = await log.requests({ runId, limit, ...(after !== undefined && { after }) });
      await forEachConcurrent(page, AT_ONCE, async ({ requestId }) => {
        const key = await receiversKey(requestId);
        const remembering = await log.find({ ...toOwned(ownerOf(run)), agent: WEBHOOK_AGENT, name: key });
        if (remembering !== undefined) await this.#eraseRun(remembering);
      });
      after = page.at(-1)?.requestId;
      if (page.length < limit) return;
    }
  }

  async #endTurns(runId: RunId): Promise<void> {
    const { log, router } = this.#context;
    const run = await log.run(runId);
    if (run === undefined || run.status === "idle") return;
    if (run.status === "held") await sendMessage(router, runId, { kind: "end" });
    for (const { requestId, phase } of await log.requests({ runId, limit: OPEN_REQUESTS })) {
      if (phase !== "completed") await sendMessage(router, runId, { kind: "cancel", requestId });
    }
  }
}

/** What has things of owners besides the log. */
interface ErasedStores {
  readonly secrets: SecretStore;
  readonly artifacts: ArtifactStore;
  /** Stores the refusals that have gathered for the audit trail. */
  readonly storeRefusals: () => Promise<void>;
}

/** Who erases. The program that made the runtime has no name. */
interface Eraser {
  readonly owner: string;
  readonly by?: By | undefined;
}

/** An erasure as it is stored until it is done, with its entry of the audit trail. */
interface StoredErasure extends ErasedThings {
  readonly entry?: NewAuditEntry;
}

/** Says what is erased without what it contains: keys and metadata can name people. */
function toEntry(
  { owner, agent, runId, key, metadata }: ErasedThings,
  who: Pick<NewAuditEntry, "at" | "by" | "owner">,
): NewAuditEntry {
  const what = [
    ...(owner === undefined ? [] : [`owner ${owner}`]),
    ...(key === undefined ? [] : ["the actor of a key"]),
    ...(metadata === undefined ? [] : ["runs by their metadata"]),
    ...(agent === undefined ? [] : [`agent ${agent}`]),
  ];
  return {
    ...who,
    action: "erase",
    ...(what.length > 0 && { detail: what.join(", ") }),
    ...(runId !== undefined && { runId }),
  };
}

/** A copy of what is to be erased. Refuses a selection that would be everything. */
function checked({ owner, agent, runId, key, metadata }: ErasedThings): ErasedThings {
  if (owner === undefined && runId === undefined && key === undefined && metadata === undefined) {
    throw new AgentError("invalid_request", "an erasure needs an owner, a run, a key or metadata");
  }
  if (key !== undefined && agent === undefined) {
    throw new AgentError("invalid_request", "a key needs the name of its agent");
  }
  if (metadata !== undefined && Object.keys(metadata).length === 0) {
    throw new AgentError("invalid_request", "the metadata of an erasure must name at least one value");
  }
  return {
    ...(owner !== undefined && { owner }),
    ...(agent !== undefined && { agent }),
    ...(runId !== undefined && { runId }),
    ...(key !== undefined && { key }),
    ...(metadata !== undefined && { metadata: structuredClone(metadata) }),
  };
}
