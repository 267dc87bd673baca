import type { SecretStore } from "../../../src/ports/secret-store.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { Artifacts } from "./artifacts.ts";
import type { Picker } from "../../laws/program.ts";
import type { Disk } from "./disk.ts";
import { LOOK_MS } from "../plan.ts";
import type { Plan } from "../plan.ts";
import { Process } from "./process.ts";
import { WallClock } from "./wall-clock.ts";
import { outsider } from "../scheduler.ts";
import type { Scheduler } from "../scheduler.ts";
import { stage } from "../stage.ts";

/** What hosts are given. */
export interface HostsOptions {
  readonly scheduler: Scheduler;
  readonly pick: Picker;
  readonly disk: Disk;
  readonly plan: Plan;
}

/** The processes on one disk: its owner, and sometimes the previous one. */
export class Hosts {
  readonly #options: HostsOptions;
  readonly clock: WallClock;
  /** The files of all processes. */
  readonly artifacts: Artifacts = new Artifacts();
  /** The secrets of all processes. */
  readonly secrets: SecretStore = memorySecrets();
  /** One process sends itself no messages. */
  readonly hasLate = false;
  /** The faults that processes reported. */
  readonly reported: string[] = [];
  #owner: Process;
  #rival: Process | undefined;
  #ids = 0;

  constructor(options: HostsOptions) {
    this.#options = options;
    this.clock = new WallClock(options.scheduler);
    this.#owner = this.#start();
  }

  /** The process that opened the log last. */
  get owner(): Process {
    return this.#owner;
  }

  /**
   * The secrets of a process that was replaced and has died since the newest start: it may have stored them after that
   * start removed what no run refers to. The next start removes them.
   */
  get leftBehind(): ReadonlySet<string> {
    return this.#rival?.alive === false ? this.#rival.stored : NO_NAMES;
  }

  /** The process that a client is connected to. */
  connect(): Process {
    return this.#rival?.alive === true && this.#options.pick.chance(30) ? this.#rival : this.#owner;
  }

  /** Ends the owner and starts another one after a delay. */
  kill(forMs: number): void {
    if (!this.#owner.alive) return;
    this.#owner.kill();
    this.#options.scheduler.timer(outsider, forMs, () => {
      if (!this.#owner.alive) this.#owner = this.#start();
    });
  }

  /** Ends the owner and starts another one at once. */
  restart(): void {
    this.#owner.kill();
    this.#owner = this.#start();
  }

  /** Stops the owner properly and starts another one after a delay. */
  async stop(forMs: number): Promise<void> {
    const stopping = this.#owner;
    await stopping.ask((runtime) => runtime.close({ drainMs: forMs })).catch(() => {});
    if (stopping === this.#owner) this.kill(forMs);
  }

  /** Suspends the owner for a while. */
  pause(forMs: number): void {
    const paused = this.#owner;
    paused.pause();
    this.#options.scheduler.timer(outsider, forMs, () => paused.resume());
  }

  /** One process is not cut off from its disk. */
  cut(forMs: number): void {
    this.pause(forMs);
  }

  /**
   * Lets another process open the log while the previous one continues for a while, sometimes suspended at
   * first.
   */
  invade(forMs: number): void {
    const old = this.#owner;
    if (!old.alive || this.#rival?.alive === true) return;
    const { pick, scheduler } = this.#options;
    if (pick.chance(50)) this.pause(forMs / 2);
    this.#rival = old;
    this.#owner = this.#start();
    scheduler.timer(outsider, forMs, () => {
      old.kill();
      // Wakes between processes can get lost, so a reader checks the log again.
      this.#owner.hangUp();
    });
  }

  #start(): Process {
    if (this.#rival?.alive === false) this.#rival = undefined;
    const { plan, ...rest } = this.#options;
    const { limits, textWindowMs, retention } = plan;
    return new Process({
      ...rest,
      limits,
      textWindowMs,
      retention,
      artifacts: this.artifacts.store,
      secrets: this.secrets,
      clock: this.clock,
      periods: plan.scheduled ? WITH_SCHEDULES : WITHOUT_SCHEDULES,
      isScheduled: plan.scheduled,
      agents: plan.scheduled ? [...stage.agents, stage.clerk] : stage.agents,
      newId: () => String((this.#ids += 1)).padStart(21, "0"),
      fault: (message) => void this.reported.push(message),
    });
  }
}

const WITHOUT_SCHEDULES: ReadonlySet<number> = new Set([LOOK_MS]);

/** A schedule compares the wall clock with its times after a minute at the latest. */
const WITH_SCHEDULES: ReadonlySet<number> = new Set([LOOK_MS, 60_000]);

const NO_NAMES: ReadonlySet<string> = new Set();
