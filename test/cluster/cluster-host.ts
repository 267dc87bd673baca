import { createRuntime, memoryArtifacts, memoryLog } from "troupe";
import type { Agent, Limits, Runtime } from "troupe";
import type { Event, Request, RunId } from "troupe/protocol";
import { manualEnvironment } from "troupe/testing";
import type { ManualEnvironment } from "troupe/testing";
import { clusterRouter } from "../../src/cluster/cluster-router.ts";
import type { Transport } from "../../src/cluster/transport.ts";
import type { ArtifactStore } from "../../src/ports/artifact-store.ts";
import type { Environment } from "../../src/ports/environment.ts";
import type { EventLog } from "../../src/ports/event-log.ts";
import type { Router } from "../../src/ports/router.ts";
import type { SecretStore } from "../../src/ports/secret-store.ts";
import type { Json } from "../../src/protocol/json.ts";
import { toEncoded } from "../../src/protocol/events/texts.ts";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import type { MemoryLog } from "../../src/storage/memory/log.ts";
import { Lifetime } from "../runtime/lifetime.ts";

/** A node of a cluster in one process. */
export interface ClusterNode {
  readonly id: string;
  readonly url: string;
  readonly runtime: Runtime;
  readonly router: Router;
  readonly log: EventLog;
  /** Ends the process of the node between two steps. */
  kill(): void;
  /** Holds back all answers of the log to this node, until the returned function is called. */
  cut(): () => void;
  /** From now on the node does not hear of changes of other nodes. */
  deafen(): void;
}

/** How a node is started. */
export interface StartOptions {
  /** How much its wall clock is fast, in milliseconds. Default 0. */
  readonly aheadMs?: number;
  readonly limits?: Partial<Limits>;
  /** Where other nodes send messages to it. Default: an address of its own. */
  readonly url?: string;
  /** Changes what the log answers, before the node uses it. */
  readonly prepare?: (log: EventLog) => void;
}

/** Several nodes on one log in memory, with a manual clock. */
export class ClusterHost {
  readonly environment: ManualEnvironment;
  readonly #log: MemoryLog;
  readonly artifacts: ArtifactStore = memoryArtifacts();
  readonly secrets: SecretStore = memorySecrets();
  readonly #receivers = new Map<string, (message: Json) => Promise<Json>>();
  readonly faults: string[] = [];
  /** How long turns took, as the nodes have measured it. */
  readonly turnsMs: number[] = [];
  /** Whether a message between nodes is lost, or its answer. */
  readonly lose: { message: (message: Json) => boolean; answer: (message: Json) => boolean } = {
    message: () => false,
    answer: () => false,
  };
  /** When a message arrives; it does so also if its sender has ended or no longer waits. */
  delay: (message: Json) => Promise<void> | undefined = () => undefined;
  /** How far the clock of the log was stepped forward, in milliseconds. */
  steppedMs = 0;
  #count = 0;
  readonly #gossipAbove: number | undefined;

  /** With more than `gossipAbove` nodes, they use gossip. */
  constructor(seed = 0, { gossipAbove }: { readonly gossipAbove?: number } = {}) {
    this.#gossipAbove = gossipAbove;
    this.environment = manualEnvironment({ seed });
    this.#log = memoryLog({ now: () => this.environment.monotonic() + this.steppedMs });
  }

  /** The log as it is, without the connection of a node. */
  get log(): EventLog {
    return this.#log;
  }

  /** Starts a node and waits until it takes runs. */
  async start(
    agents: readonly Agent[],
    { aheadMs = 0, limits = {}, url, prepare }: StartOptions = {},
  ): Promise<ClusterNode> {
    const life = new Lifetime();
    const id = `node-${(this.#count += 1)}`;
    const transport = this.#transport(url ?? `memory://${id}`, life);
    const environment = this.#environmentOf(life, aheadMs);
    const line: Line = { isWhole: undefined, isDeaf: false };
    const log = whileAlive(this.#log.openNode(id), life, line);
    prepare?.(log);
    const gossipAbove = this.#gossipAbove;
    const router = clusterRouter({
      log,
      transport,
      environment,
      ...(gossipAbove !== undefined && { gossipAbove }),
    });
    const runtime = createRuntime({
      agents,
      limits,
      log,
      artifacts: this.artifacts,
      secrets: this.secrets,
      router,
      environment,
      telemetry: {
        accepted() {},
        completed: (_agent, _reason, ms) => void this.turnsMs.push(ms),
        committed() {},
        dropped() {},
        failed() {},
        fault: (message, detail) => void this.faults.push(`${id}: ${message}: ${String(detail)}`),
      },
    });
    await this.environment.idle();
    await runtime.ready();
    return {
      id,
      url: transport.url,
      runtime,
      router,
      log,
      kill: () => {
        life.end();
        this.#receivers.delete(transport.url);
      },
      cut: () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        line.isWhole = promise;
        return () => {
          line.isWhole = undefined;
          resolve();
        };
      },
      deafen: () => void (line.isDeaf = true),
    };
  }

  /** Makes a request on a node, and lets time pass until it is accepted. */
  async ask(node: ClusterNode, agent: string, request: Request): Promise<RunId> {
    const { runId } = await this.settle(node.runtime.process(agent, request));
    return runId as RunId;
  }

  /** Lets time pass until a promise is settled. */
  async settle<Result>(promise: Promise<Result>, mostMs = 20_000): Promise<Result> {
    let settled = false;
    const end = (): void => void (settled = true);
    promise.then(end, end);
    await this.environment.idle();
    for (let ms = 0; !settled && ms < mostMs; ms += 50) await this.environment.advance(50);
    if (!settled) throw new Error(`the promise is not settled after ${mostMs} ms`);
    return promise;
  }

  /** Lets time pass. */
  pass(ms: number): Promise<void> {
    return this.environment.advance(ms);
  }

  async events(runId: RunId): Promise<readonly Event[]> {
    const { events } = await this.#log.read(runId, { after: 0 });
    return toEncoded(events).map((text) => JSON.parse(text) as Event);
  }

  #transport(own: string, life: Lifetime): Transport {
    return {
      url: own,
      listen: async (receive) => {
        this.#receivers.set(own, receive);
        return async () => void this.#receivers.delete(own);
      },
      send: async (url, message, signal) => {
        const receive = this.#receivers.get(url);
        if (receive === undefined || this.lose.message(message)) throw new Error("unreachable");
        const arrive = async (): Promise<Json> => {
          await this.delay(message);
          return receive(structuredClone(message));
        };
        const aborted = new Promise<never>((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")));
        });
        const answer = await life.whileAlive(Promise.race([arrive(), aborted]));
        if (this.lose.answer(message)) throw new Error("the answer is lost");
        return structuredClone(answer);
      },
    };
  }

  #environmentOf(life: Lifetime, aheadMs: number): Environment {
    const { environment } = this;
    return {
      ...environment,
      now: () => environment.now() + aheadMs,
      timer: (ms, fire) => life.timer(environment, ms, fire),
      alarm: (atMs, fire) => life.alarm(environment, atMs - aheadMs, fire),
      macrotask: (run) =>
        environment.macrotask(() => {
          if (life.alive) run();
        }),
    };
  }
}

/** The connection of a node to the log; `isWhole` is set while it is cut, and resolves when it is whole again. */
interface Line {
  isWhole: Promise<void> | undefined;
  /** Whether wakes of other nodes get lost. */
  isDeaf: boolean;
}

/** A log whose answers wait while the connection is cut, and never arrive once its process has ended. */
function whileAlive(log: MemoryLog, life: Lifetime, line: Line): EventLog {
  const arrived = async <Answer>(asked: Promise<Answer>): Promise<Answer> => {
    if (line.isWhole === undefined) return asked;
    asked.catch(() => {});
    await line.isWhole;
    return asked;
  };
  const until =
    <Given extends readonly unknown[], Answer>(ask: (...given: Given) => Promise<Answer>) =>
    (...given: Given): Promise<Answer> =>
      life.alive ? life.whileAlive(arrived(ask(...given))) : new Promise(() => {});
  const directory = log.nodes?.();
  return {
    ...log,
    claim: until(log.claim),
    append: until(async (cursor, batch) => log.append(cursor, batch)),
    release(cursor) {
      if (life.alive) log.release(cursor);
    },
    read: until(async (runId: RunId, options) => log.read(runId, options)),
    tail: (runId, wake) =>
      log.tail(runId, () => {
        if (life.alive && !line.isDeaf) wake();
      }),
    lookup: until(log.lookup),
    run: until(log.run),
    find: until(log.find),
    list: until(log.list),
    open: until(log.open),
    waking: until(log.waking),
    outbox: until(log.outbox),
    remove: until(log.remove),
    nodes: () => ({
      heartbeat: until(async (self, forgotten) => (await directory?.heartbeat(self, forgotten)) ?? []),
      renew: until(async (self) => directory?.renew?.(self)),
    }),
    close: async () => {},
  };
}
