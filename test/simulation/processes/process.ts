import { clusterRouter, createRuntime, localRouter } from "troupe";
import type { Address, Agent, EventPage, FollowOptions, Limits, Runtime } from "troupe";
import type { Transport } from "../../../src/cluster/transport.ts";
import type { ArtifactStore } from "../../../src/ports/artifact-store.ts";
import type { Environment } from "../../../src/ports/environment.ts";
import type { SecretStore } from "../../../src/ports/secret-store.ts";
import type { Picker } from "../../laws/program.ts";
import type { Disk } from "./disk.ts";
import type { Retention } from "../plan.ts";
import { outsider } from "../scheduler.ts";
import type { Clock } from "./wall-clock.ts";
import type { Doer, Scheduler } from "../scheduler.ts";

/** The start data of a process. */
export interface ProcessOptions {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly pick: Picker;
  readonly disk: Disk;
  readonly artifacts: ArtifactStore;
  readonly agents: readonly Agent[];
  readonly limits: Partial<Limits>;
  readonly textWindowMs: number;
  readonly retention: Retention;
  /** The intervals of its periodic work, in milliseconds; nothing else uses them. */
  readonly periods: ReadonlySet<number>;
  /** Whether its agents have schedules. */
  readonly isScheduled: boolean;
  readonly secrets: SecretStore;
  /** Its id and its connection to others, if it is one of several nodes. */
  readonly node?: { readonly id: string; readonly gossipAbove: number; transport(doer: Doer): Transport };
  /** Generates ids that no other process generates. */
  readonly newId: () => string;
  /** Gets the faults that a runtime reports. */
  readonly fault: (message: string) => void;
}

/** The error for clients whose process is gone. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** A process with a runtime, as its clients see it: it can pause, and it can die between any two steps. */
export class Process implements Doer {
  readonly #options: ProcessOptions;
  readonly #runtime: Runtime;
  readonly #asked = new Set<() => void>();
  readonly #held: (() => void)[] = [];
  /** The names of the secrets that it has stored. */
  readonly stored: Set<string> = new Set();
  alive = true;
  paused = false;

  constructor(options: ProcessOptions) {
    const { agents, limits, textWindowMs, retention, disk, node, fault } = options;
    this.#options = options;
    const log = disk.open(this, node?.id);
    const environment = this.#environment();
    const report = (message: string, detail: unknown): void => fault(`${message}: ${String(detail)}`);
    const router = node
      ? clusterRouter({
          log,
          transport: node.transport(this),
          environment,
          fault: report,
          gossipAbove: node.gossipAbove,
        })
      : localRouter();
    this.#runtime = createRuntime({
      agents,
      limits,
      textWindowMs,
      ...retention,
      log,
      artifacts: this.#artifacts(),
      secrets: this.#secrets(),
      environment,
      router,
      telemetry: {
        accepted() {},
        completed() {},
        committed() {},
        dropped() {},
        failed() {},
        fault: report,
      },
    });
  }

  /** Makes a request to the runtime over a connection, which breaks when the process dies. */
  ask<Answer>(question: (runtime: Runtime) => Promise<Answer>): Promise<Answer> {
    const { scheduler } = this.#options;
    return new Promise((resolve, reject) => {
      const lost = (): void => reject(new ConnectionLost());
      if (!this.alive) {
        scheduler.post(outsider, lost);
        return;
      }
      this.#asked.add(lost);
      // The answer is on its way even if the process dies now.
      const answer = (tell: () => void): void => {
        this.#asked.delete(lost);
        scheduler.post(outsider, tell);
      };
      scheduler.post(this, () => {
        // Data on its way is lost with its connection.
        if (!this.#asked.has(lost)) return;
        question(this.#runtime).then(
          (value) => answer(() => resolve(value)),
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    });
  }

  /** Follows events over a connection. */
  async *follow(address: Address, options: FollowOptions): AsyncGenerator<EventPage, void> {
    const { pages } = await this.ask((runtime) => runtime.follow(address, options));
    const iterator = pages[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.ask(() => iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  }

  /** Kills the process at once. */
  kill(): void {
    if (!this.alive) return;
    const { scheduler, disk } = this.#options;
    this.alive = false;
    scheduler.forget(this);
    disk.died(this);
    this.hangUp();
  }

  /** Breaks all connections. */
  hangUp(): void {
    for (const lost of this.#asked) this.#options.scheduler.post(outsider, lost);
    this.#asked.clear();
  }

  /** Suspends it for a while; messages that arrive in the meantime wait. */
  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    for (const run of this.#held.splice(0)) this.#options.scheduler.post(this, run);
  }

  hold(run: () => void): void {
    this.#held.push(run);
  }

  #environment(): Environment {
    const { scheduler, clock, pick, newId, periods, isScheduled } = this.#options;
    const startMs = scheduler.nowMs;
    const timer = (ms: number, fire: () => void): (() => void) => {
      // Schedules wait for whole minutes, and their waits never end.
      const isSchedule = isScheduled && (clock.nowMs + ms) % MINUTE_MS === 0;
      return scheduler.timer(this, ms, fire, isSchedule || periods.has(ms));
    };
    return {
      now: () => clock.nowMs,
      monotonic: () => scheduler.nowMs - startMs,
      timer,
      alarm: (atMs, fire) => timer(Math.max(atMs - clock.nowMs, 0), fire),
      macrotask: (run) => scheduler.post(this, run),
      newId,
      random: () => pick.below(RANGE) / RANGE,
      attribute: (_turn, run) => run(),
    };
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#options.scheduler.post(this, resolve);
    });
  }

  /** Its access to the artifacts, during which it can die. */
  #artifacts(): ArtifactStore {
    const { artifacts } = this.#options;
    const slowly = this.#slowly.bind(this);
    return {
      ...artifacts,
      put: (artifact) => slowly(() => artifacts.put(artifact)),
      get: (artifactId) => slowly(() => artifacts.get(artifactId)),
      attach: (artifactIds, runId) => slowly(() => artifacts.attach(artifactIds, runId)),
      detach: (runId) => slowly(() => artifacts.detach(runId)),
      removeRun: (runId) => slowly(() => artifacts.removeRun(runId)),
      close: async () => {},
    };
  }

  /** Its access to the secrets, during which it can die. */
  #secrets(): SecretStore {
    const { secrets } = this.#options;
    return {
      get: (name) => secrets.get(name),
      put: (values) =>
        this.#slowly(() => {
          for (const name of Object.keys(values)) this.stored.add(name);
          return secrets.put(values);
        }),
      names: () => secrets.names(),
      remove: (names) => this.#slowly(() => secrets.remove(names)),
    };
  }

  /** Runs an operation with a delay before or after it. */
  async #slowly<Result>(work: () => Promise<Result>): Promise<Result> {
    const { pick } = this.#options;
    if (pick.chance(25)) await this.#turn();
    const result = await work();
    if (pick.chance(25)) await this.#turn();
    return result;
  }
}

const RANGE = 2 ** 32;

const MINUTE_MS = 60_000;
