import type { Kept } from "../laws/model.ts";
import type { Picker } from "../laws/program.ts";
import type { Client } from "./clients/client.ts";
import { Disk } from "./processes/disk.ts";
import type { Lie } from "./processes/disk.ts";
import { RemoteServer } from "./remote/server.ts";
import { RemoteNetwork } from "./remote/network.ts";
import { Hosts } from "./processes/hosts.ts";
import { Nodes } from "./nodes/nodes.ts";
import { ClientActions } from "./clients/client-actions.ts";
import type { Shared } from "./clients/client-actions.ts";
import type { SimulationAccess } from "./clients/connection.ts";
import { FaultInjector } from "./processes/fault-injector.ts";
import type { FaultTargets } from "./processes/fault-injector.ts";
import { createNodesPlan, createPlan, LOOK_MS } from "./plan.ts";
import type { Plan } from "./plan.ts";
import { outsider, Scheduler } from "./scheduler.ts";
import { Settings } from "./clients/settings.ts";
import { stage } from "./stage.ts";
import { verify } from "./checks/verify.ts";
import { findMissedTimes } from "./checks/verify-cron.ts";
import { verifyRemote } from "./checks/verify-remote.ts";
import { verifyStorage, verifyRetention } from "./checks/verify-storage.ts";
import { Observer } from "./checks/observer.ts";

/** A simulation: processes on one disk, clients and readers that survive them, and faults. */
export class Simulation {
  readonly observer: Observer = new Observer();
  readonly scheduler: Scheduler;
  readonly plan: Plan;
  readonly disk: Disk;
  readonly hosts: Hosts | Nodes;
  readonly remoteServer: RemoteServer;
  readonly faultInjector: FaultInjector;
  readonly clients: Client[] = [];
  readonly shared: Shared;
  readonly judged: Map<string, Kept> = new Map();
  readonly #pick: Picker;
  readonly #victims: FaultTargets;
  #patient = false;
  readonly #isLiedTo: boolean;

  constructor(pick: Picker, { lie, nodes = false }: SimulationOptions = {}) {
    const { observer } = this;
    this.#pick = pick;
    this.#isLiedTo = lie !== undefined;
    this.plan = nodes ? createNodesPlan(pick) : createPlan(pick);
    this.faultInjector = new FaultInjector(this.plan.faults);
    const stepped = (): void => {
      if (observer.faults.length > 0) throw new Stopped();
      this.faultInjector.stepped(this.#victims);
    };
    // A turn can sleep until a full minute, as a schedule does. Another node may notice its end some seconds later.
    const isOpen = (): boolean =>
      observer.hasOpen("sch_") ||
      (this.plan.scheduled && observer.awaitsMinute(this.hosts.clock.earliestMs - NODES_MS));
    const scheduler = new Scheduler(pick, stepped, isOpen);
    this.scheduler = scheduler;
    this.disk = new Disk({
      scheduler,
      pick,
      logObserver: observer,
      moment: (moment) => this.faultInjector.append(this.#victims, moment),
      ...(lie !== undefined && { lie }),
      isShared: nodes,
    });
    const options = { scheduler, pick, disk: this.disk, plan: this.plan };
    this.hosts = nodes ? new Nodes(options) : new Hosts(options);
    const begun = (program: number): void => observer.did(`risky ${program}`, false);
    this.remoteServer = new RemoteServer({ scheduler, pick, begun });
    const { lossPercent } = this.plan;
    const remoteNetwork = new RemoteNetwork({ scheduler, pick, side: this.remoteServer, lossPercent });
    this.#victims = { scheduler, pick, disk: this.disk, hosts: this.hosts, remoteNetwork, observer };
    this.shared = {
      programs: new Map(),
      steps: new Map(),
      given: new Map(),
      settings: new Settings({ isFollowed: nodes }),
      files: [],
      messages: new Map(),
      readers: [],
      mostReaders: this.plan.readers,
      requests: 0,
      aside: (work) => this.#aside(work),
    };
    stage.enter({
      programs: this.shared.steps,
      note: (what) => observer.did(what, scheduler.doer === this.hosts.owner),
      macrotask: (run) => scheduler.post(scheduler.doer, run),
      fetch: remoteNetwork.fetch,
    });
  }

  /** Runs all steps and checks the result; stops at the first violation. */
  async play(): Promise<void> {
    try {
      for (let count = 0; count < this.plan.clients; count += 1) this.#bear();
      await this.#rest();
      await verify(this);
      const left = this.clients.map(
        (client) => [client, client.asked.filter(({ open }) => open.size > 0)] as const,
      );
      if (this.plan.scheduled) await this.#passSchedules();
      else if (this.plan.restart || this.hosts.leftBehind.size > 0) await this.#restartAtRest();
      this.#patient = true;
      for (const [client, asked] of left) {
        for (const one of asked) this.#aside(client.see(one));
        this.#aside(client.repeatAll());
      }
      await this.#rest();
      if (this.plan.scheduled) await this.#passSchedules();
      await verify(this, { finished: true });
      verifyRemote(this);
      if (this.plan.retention.retainMs !== undefined) await this.#outlive(this.plan.retention.retainMs);
    } catch (error) {
      if (!(error instanceof Stopped))
        this.observer.say(error instanceof Error ? String(error.stack) : String(error));
    }
  }

  /** Runs steps until no work is left. */
  async #rest(): Promise<void> {
    await this.scheduler.run(this.#mostSteps);
    if (this.plan.nodes === 0) return;
    // What nodes leave behind is found only some time after they are gone.
    for (let commits = -1; commits !== this.faultInjector.commits;) {
      commits = this.faultInjector.commits;
      await this.scheduler.pass(NODES_MS + this.#lookMs, this.#mostSteps);
    }
  }

  /** The time in which a node that started last looks for runs to remove because of their size. */
  get #lookMs(): number {
    return this.plan.retention.retainBytes === undefined ? 0 : LOOK_MS;
  }

  /** The maximum number of steps; nodes beat, also while schedules wait for hours. What a lie has lost is awaited for ever. */
  get #mostSteps(): number {
    return this.plan.nodes === 0 || this.#isLiedTo ? MOST_STEPS : 40 * MOST_STEPS;
  }

  /** Advances the time over some times of the schedules; the last ones pass without a fault. */
  async #passSchedules(): Promise<void> {
    await this.scheduler.pass(SCHEDULES_MS, this.#mostSteps);
    this.faultInjector.stop();
    await this.scheduler.pass(SCHEDULES_MS, this.#mostSteps);
    await this.#passWakes();
    // A request whose time is just now may be on its way.
    this.observer.faults.push(...findMissedTimes(this.observer, this.hosts.clock.earliestMs - 5_000));
  }

  /** Of several nodes, one that does not know a wake time finds a few seconds later that it has passed. */
  async #passWakes(): Promise<void> {
    const { log } = this.disk;
    const isLate = async (): Promise<boolean> =>
      (await log.waking({ notAfter: this.hosts.clock.latestMs, limit: 1 })).length > 0;
    for (let times = 0; times < MOST_LATE && (await isLate()); times += 1)
      await this.scheduler.pass(1_000, this.#mostSteps);
  }

  /** Advances the time until retention has removed every ended run. */
  async #outlive(retainMs: number): Promise<void> {
    // An unattached file is kept for a day, in which retention looks 11,000 times for runs to remove or to shorten.
    await this.scheduler.pass(retainMs + 5 * LOOK_MS, 4 * this.#mostSteps);
    verifyRetention(this);
    await verifyStorage(this);
  }

  /** Idle runs stay unchanged when a new process starts. */
  async #restartAtRest(): Promise<void> {
    const { commits } = this.faultInjector;
    this.hosts.restart();
    await this.#rest();
    if (this.faultInjector.commits !== commits)
      this.observer.say("a restart wrote something though all was parked");
  }

  #bear(): void {
    const { observer, scheduler, hosts, shared } = this;
    const isPatient = (): boolean => this.#patient;
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        scheduler.timer(outsider, ms, resolve);
      });
    const around: SimulationAccess = {
      observer,
      pick: this.#pick,
      connect: () => hosts.connect(),
      isOwner: (process) => hosts.owner === undefined || process === hosts.owner,
      pause,
      latestClockMs: () => hosts.clock.latestMs,
      isOvertaking: (copies) => hosts.hasLate || (this.plan.nodes > 0 && copies > 1),
      get patient() {
        return isPatient();
      },
    };
    const life = new ClientActions(around, shared);
    this.clients.push(life.client);
    this.#aside(life.live());
  }

  /** Runs something concurrently. */
  #aside(work: Promise<unknown>): void {
    work.catch((error: unknown) =>
      this.observer.say(error instanceof Error ? String(error.stack) : String(error)),
    );
  }
}

/** How a simulation is played. */
export interface SimulationOptions {
  /** A deliberate fault of the disk. */
  readonly lie?: Lie;
  /** Whether several nodes share the disk. */
  readonly nodes?: boolean;
}

/** Thrown to stop at a violation. */
class Stopped extends Error {}

/** A time in which each schedule has several times. */
const SCHEDULES_MS = 600_000;

/** A time in which nodes find out what others have left. */
const NODES_MS = 12_000;

/** How often a wake may be awaited, one second each. */
const MOST_LATE = 60;

/** The maximum number of steps of a simulation. */
const MOST_STEPS = 200_000;
