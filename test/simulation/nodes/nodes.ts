import type { SecretStore } from "../../../src/ports/secret-store.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { LOOK_MS } from "../plan.ts";
import { Artifacts } from "../processes/artifacts.ts";
import type { HostsOptions } from "../processes/hosts.ts";
import { Process } from "../processes/process.ts";
import { outsider } from "../scheduler.ts";
import { stage } from "../stage.ts";
import { NodeNetwork } from "./network.ts";
import { NodeClocks } from "./node-clocks.ts";

/** Several nodes on one log, each of which a client can be connected to. */
export class Nodes {
  readonly #options: HostsOptions;
  readonly #network: NodeNetwork;
  readonly clock: NodeClocks;
  /** The files of all nodes. */
  readonly artifacts: Artifacts = new Artifacts();
  /** The secrets of all nodes. */
  readonly secrets: SecretStore = memorySecrets();
  /** The faults that nodes reported. */
  readonly reported: string[] = [];
  /** The secrets of nodes that died while they stored them are removed by the others. */
  readonly leftBehind: ReadonlySet<string> = new Set();
  /** No process owns the log. */
  readonly owner = undefined;
  readonly #nodes: Process[] = [];
  #ids = 0;

  constructor(options: HostsOptions) {
    this.#options = options;
    const { lossPercent, apartMs } = options.plan;
    this.clock = new NodeClocks({ ...options, apartMs });
    this.#network = new NodeNetwork({ ...options, lossPercent });
    for (let count = 0; count < options.plan.nodes; count += 1) this.#start();
  }

  /** Whether a message between nodes was late by seconds. */
  get hasLate(): boolean {
    return this.#network.hasLate;
  }

  /** The node that a client is connected to. */
  connect(): Process {
    return this.#any;
  }

  /** Ends a node and starts another one after a delay. */
  kill(forMs: number): void {
    this.#kill(this.#any, forMs);
  }

  /** Starts one more node. */
  restart(): void {
    this.#start();
  }

  /** Stops a node properly and starts another one after a delay. */
  async stop(forMs: number): Promise<void> {
    const stopping = this.#any;
    await stopping.ask((runtime) => runtime.close({ drainMs: forMs })).catch(() => {});
    this.#kill(stopping, forMs);
  }

  /** Suspends a node for a while. */
  pause(forMs: number): void {
    const paused = this.#any;
    paused.pause();
    this.#options.scheduler.timer(outsider, forMs, () => paused.resume());
  }

  /** Cuts a node off from the log for a while. */
  cut(forMs: number): void {
    this.#options.disk.cut(this.#any, forMs);
  }

  /** One more node joins, and may be killed later. */
  invade(forMs: number): void {
    const joined = this.#start();
    if (this.#options.pick.chance(50)) return;
    this.#options.scheduler.timer(outsider, forMs, () => {
      joined.kill();
      this.#network.died(joined);
    });
  }

  /** A node, alive if there is one. */
  get #any(): Process {
    const alive = this.#nodes.filter((node) => node.alive);
    return this.#options.pick.of(alive.length > 0 ? alive : this.#nodes);
  }

  #kill(node: Process, forMs: number): void {
    if (!node.alive) return;
    node.kill();
    this.#network.died(node);
    this.#options.scheduler.timer(outsider, forMs, () => void this.#start());
  }

  #start(): Process {
    const { plan, ...rest } = this.#options;
    const { limits, textWindowMs, retention } = plan;
    const id = `node-${this.#nodes.length + 1}`;
    const process = new Process({
      ...rest,
      limits,
      textWindowMs,
      retention,
      artifacts: this.artifacts.store,
      secrets: this.secrets,
      clock: this.clock.add(),
      periods: plan.scheduled ? WITH_SCHEDULES : PERIODS,
      isScheduled: plan.scheduled,
      agents: plan.scheduled ? [...stage.agents, stage.clerk] : stage.agents,
      node: {
        id,
        gossipAbove: plan.gossips ? 1 : Infinity,
        transport: (doer) => this.#network.transport(id, doer),
      },
      newId: () => String((this.#ids += 1)).padStart(21, "0"),
      fault: (message) => void this.reported.push(`${id}: ${message}`),
    });
    this.#nodes.push(process);
    return process;
  }
}

/** Retention, beats, looks for runs whose owners are gone, and those for files that no run has, for a day. */
const PERIODS: ReadonlySet<number> = new Set([LOOK_MS, 300, 3_000, 3_600_000]);

/** A schedule compares the wall clock with its times after a minute at the latest. */
const WITH_SCHEDULES: ReadonlySet<number> = new Set([...PERIODS, 60_000]);
