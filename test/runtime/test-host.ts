import { createRuntime, memoryArtifacts, memoryLog } from "troupe";
import type { Agent, Authorize, CreateRuntimeOptions, Limits, LimitsOfOwner, Receipt, Runtime } from "troupe";
import type { Event, Request, RequestId } from "troupe/protocol";
import { manualEnvironment } from "troupe/testing";
import type { ManualEnvironment } from "troupe/testing";
import type { ArtifactStore } from "../../src/ports/artifact-store.ts";
import type { Environment } from "../../src/ports/environment.ts";
import type { EventLog } from "../../src/ports/event-log.ts";
import type { Batch } from "../../src/ports/log-batch.ts";
import { Unavailable } from "../../src/ports/event-log.ts";
import type { SecretStore } from "../../src/ports/secret-store.ts";
import { Lifetime } from "./lifetime.ts";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import { toEncoded } from "../../src/protocol/events/texts.ts";

/** The fault of a commit: the process dies or the log fails, before the commit is written or just after. */
export interface CommitFault {
  /** The number of the commit, from 1, over all processes. */
  readonly commit: number;
  readonly kind: "crash" | "failure";
  readonly written: boolean;
}

export interface TestHostOptions {
  readonly agents: readonly Agent[];
  readonly topics?: CreateRuntimeOptions["topics"];
  readonly limits?: Partial<Limits>;
  /** How long the history of a run is kept. Default: for ever. */
  readonly retainMs?: number;
  /** The rules of an application, and the limits of its owners. Default: none. */
  readonly authorize?: Authorize;
  readonly owners?: LimitsOfOwner;
  /** How long texts gather at most. Default: that of the runtime. */
  readonly textWindowMs?: number;
  /** Determines the order of steps that are ready at the same time. Default 0: in order of creation. */
  readonly seed?: number;
  readonly commitFaults?: readonly CommitFault[];
  /** The node of the log; default: none, as for a log of one process. */
  readonly node?: string;
}

/** The id of the request that most tests make. */
export const asked: RequestId = "asked";

/** A chat under that id. */
export const chat = { type: "ChatRequest", input: "", request_id: asked } as const;

/**
 * A runtime with a manual clock, on a log that survives it. The process can die at any commit or between two;
 * its running work is lost then, and a new process starts from the log.
 */
export class TestHost {
  readonly environment: ManualEnvironment;
  readonly log: EventLog;
  readonly artifacts: ArtifactStore = memoryArtifacts();
  readonly secrets: SecretStore = memorySecrets();
  /** The faults that the runtime reported. */
  readonly faults: string[] = [];
  /** The runs that it reported as taken over. */
  readonly moved: string[] = [];
  readonly dropped: string[] = [];
  /** The offset of the process's clock from the real time, in milliseconds. */
  clockMs = 0;
  /** How often the log was asked what is open in it. */
  recoveries = 0;
  /** How many commits were begun. */
  commits = 0;
  #options: TestHostOptions;
  #commitFaults: readonly CommitFault[];
  #life = new Lifetime();
  #runtime: Runtime;
  #writable = true;
  #held: (() => void)[] | undefined;
  /** How often the list of sleeping requests fails. */
  #listFaults = 0;
  /** How often a run cannot be claimed. */
  #claimFaults = 0;

  constructor(options: TestHostOptions) {
    const { node } = options;
    this.log = memoryLog(node === undefined ? {} : { node });
    this.#options = options;
    this.#commitFaults = options.commitFaults ?? [];
    this.environment = manualEnvironment({ seed: options.seed ?? 0 });
    this.#runtime = this.#start();
  }

  get runtime(): Runtime {
    return this.#runtime;
  }

  /** Whether the process has died and no new one was started. */
  get crashed(): boolean {
    return !this.#life.alive;
  }

  /** Ends the process. */
  crash(): void {
    this.#life.end();
  }

  /** Starts a process on the log, and waits until no work is left. */
  async restart(agents?: readonly Agent[]): Promise<void> {
    this.#life.end();
    this.#life = new Lifetime();
    if (agents) this.#options = { ...this.#options, agents };
    this.#runtime = this.#start();
    await this.environment.idle();
  }

  /** Starts a process, and waits until a request has ended or its turn runs again: a suspect is held back before. */
  async restartUntilContinued(id: string, agents?: readonly Agent[]): Promise<void> {
    const state = async (): Promise<string | number | undefined> => {
      const entry = await this.log.lookup(id);
      if (entry === undefined || entry.phase === "completed") return entry?.phase;
      const { records } = await this.log.read(entry.runId, { after: 0, records: true });
      return records.filter(({ type }) => type === "RecoveryStarted").length;
    };
    const before = await state();
    await this.restart(agents);
    while ((await state()) === before) await this.environment.advance(50);
  }

  /** Plans a fault for the commit after this many others. */
  planFault({ after = 0, ...fault }: Omit<CommitFault, "commit"> & { readonly after?: number }): void {
    this.#commitFaults = [...this.#commitFaults, { ...fault, commit: this.commits + 1 + after }];
  }

  /** Lets a failed log accept commits again. */
  repair(): void {
    this.#writable = true;
  }

  /** Makes the log fail to claim a run this many times. */
  failClaims(times: number): void {
    this.#claimFaults = times;
  }

  /** Makes the log fail to list sleeping requests this many times. */
  failSleepingLists(times: number): void {
    this.#listFaults = times;
  }

  /** Holds commits back until they are released. */
  holdCommits(): void {
    this.#held ??= [];
  }

  /** Releases the held commits, and all that follow. */
  async releaseCommits(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const commit of held) commit();
    await this.environment.idle();
  }

  /** Releases the oldest held commit. */
  async releaseCommit(): Promise<void> {
    this.#held?.shift()?.();
    await this.environment.idle();
  }

  /** Makes a request and waits until no work is left. */
  async ask(agent: string, request: Request): Promise<Receipt> {
    const receipt = this.#runtime.process(agent, request);
    receipt.catch(() => {});
    await this.environment.idle();
    return receipt;
  }

  /** All events of a run, or of one request. */
  async events(id: string): Promise<readonly Event[]> {
    const entry = await this.log.lookup(id);
    const { events } = await this.log.read(entry?.runId ?? id, { after: 0 });
    const all = toEncoded(events).map((text) => JSON.parse(text) as Event);
    return entry ? all.filter(({ request_id: requestId }) => requestId === id) : all;
  }

  /** Runs a macrotask that dies with the process, as those of agent code do. */
  macrotask(run: () => void): void {
    this.#environmentOf(this.#life).macrotask(run);
  }

  /** Waits as agent code does: after the process has died it never resolves. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#environmentOf(this.#life).timer(ms, resolve);
    });
  }

  #start(): Runtime {
    const { agents, topics, limits, textWindowMs, retainMs, authorize, owners } = this.#options;
    return createRuntime({
      agents,
      log: this.#logOf(this.#life),
      artifacts: this.#artifactsOf(this.#life),
      secrets: this.secrets,
      environment: this.#environmentOf(this.#life),
      telemetry: this.#telemetry(),
      ...(topics && { topics }),
      ...(limits && { limits }),
      ...(authorize && { authorize }),
      ...(owners && { owners }),
      ...(textWindowMs !== undefined && { textWindowMs }),
      ...(retainMs !== undefined && { retainMs }),
    });
  }

  #telemetry(): Telemetry {
    return {
      accepted() {},
      completed() {},
      committed() {},
      dropped: (what) => void this.dropped.push(what),
      failed() {},
      moved: (message) => void this.moved.push(message),
      fault: (message, detail) => void this.faults.push(`${message}: ${String(detail)}`),
    };
  }

  #environmentOf(life: Lifetime): Environment {
    const { environment } = this;
    return {
      ...environment,
      now: () => environment.now() + this.clockMs,
      timer: (ms, fire) => life.timer(environment, ms, fire),
      alarm: (atMs, fire) => life.alarm(environment, atMs - this.clockMs, fire),
      macrotask: (run) =>
        environment.macrotask(() => {
          if (life.alive) run();
        }),
    };
  }

  #logOf(life: Lifetime): EventLog {
    const { log } = this;
    const whileAlive =
      <Given extends readonly unknown[], Answer>(ask: (...given: Given) => Promise<Answer>) =>
      (...given: Given): Promise<Answer> =>
        life.whileAlive(ask(...given));
    return {
      ...log,
      claim: whileAlive((runId) => {
        this.#claimFaults -= 1;
        if (this.#claimFaults >= 0) throw new Unavailable("the disk is gone");
        return log.claim(runId);
      }),
      append: whileAlive((cursor, batch) =>
        this.#append(life, async () => log.append(cursor, throughJson(batch))),
      ),
      release: (cursor) => {
        if (life.alive) log.release(cursor);
      },
      read: whileAlive(async (runId, options) => log.read(runId, options)),
      tail: (runId, wake) =>
        log.tail(runId, () => {
          if (life.alive) wake();
        }),
      lookup: whileAlive(log.lookup),
      requests: whileAlive(log.requests),
      run: whileAlive(log.run),
      find: whileAlive(log.find),
      list: whileAlive(log.list),
      runIds: whileAlive(log.runIds),
      holdings: whileAlive(log.holdings),
      open: whileAlive(() => {
        this.recoveries += 1;
        return log.open();
      }),
      waking: whileAlive((query) => {
        this.#listFaults -= 1;
        if (this.#listFaults >= 0) throw new Unavailable("the disk is gone");
        return log.waking(query);
      }),
      parked: whileAlive(log.parked),
      waits: whileAlive(log.waits),
      outbox: whileAlive(log.outbox),
      snapshot: whileAlive(log.snapshot),
      unreferenced: whileAlive(log.unreferenced),
      remove: whileAlive((cursor) => log.remove(cursor)),
      removeIdle: whileAlive(log.removeIdle),
      health: () => (this.#writable ? { writable: true } : { writable: false, reason: "the disk is gone" }),
      close: async () => {},
    };
  }

  /** Writes after a delay and acknowledges after another, unless there is a fault. */
  async #append<Answer>(life: Lifetime, write: () => Promise<Answer>): Promise<Answer> {
    if (!this.#writable) throw new Unavailable("the disk is gone");
    if (life.alive) this.commits += 1;
    const { commits } = this;
    await this.#pause(life);
    await this.#release();
    const fault = this.#commitFaults.find(({ commit }) => commit === commits);
    if (fault === undefined || fault.written) {
      const answer = await write();
      if (fault === undefined) {
        await this.#pause(life);
        return answer;
      }
    }
    if (fault?.kind === "crash") life.end();
    else this.#writable = false;
    throw new Unavailable("the disk is gone");
  }

  /** Resolves when commits are not held back. */
  #release(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#held) this.#held.push(resolve);
      else resolve();
    });
  }

  #pause(life: Lifetime): Promise<void> {
    return new Promise((resolve) => {
      this.environment.macrotask(() => {
        if (life.alive) resolve();
      });
    });
  }

  #artifactsOf(life: Lifetime): ArtifactStore {
    const { artifacts } = this;
    return {
      ...artifacts,
      put: (artifact) => life.whileAlive(artifacts.put(artifact)),
      get: (artifactId) => life.whileAlive(artifacts.get(artifactId)),
      attach: (artifactIds, runId) => life.whileAlive(artifacts.attach(artifactIds, runId)),
      close: async () => {},
    };
  }
}

/** A batch as a log on disk would store it. */
function throughJson(batch: Batch): Batch {
  return JSON.parse(JSON.stringify(batch)) as Batch;
}
