import { memoryLog } from "troupe";
import { Fenced, Unavailable } from "../../../src/ports/event-log.ts";
import type { Claim, Cursor, EventLog, SeenRun } from "../../../src/ports/event-log.ts";
import type { Batch } from "../../../src/ports/log-batch.ts";
import type { ClaimOptions, ReadOptions } from "../../../src/ports/log-queries.ts";
import type { NodeRow, ForgottenRow, NodePresence } from "../../../src/ports/node-directory.ts";
import type { MemoryLog } from "../../../src/storage/memory/log.ts";
import type { RunId } from "../../../src/protocol/ids.ts";
import type { Picker } from "../../laws/program.ts";
import { FollowedRuns, Tails } from "../../../src/storage/shared/tails.ts";
import type { LogWakes, RunWake } from "../../../src/ports/router.ts";
import { copyOf, headAfter } from "./append.ts";
import type { Append } from "./append.ts";
import { Delays } from "./delays.ts";
import { outsider } from "../scheduler.ts";
import type { Doer, Scheduler } from "../scheduler.ts";

/** Observes everything that becomes part of the log. */
export interface LogObserver {
  /** The log has another owner: the previous claims are void. */
  opened(): void;
  claimed(cursor: Cursor): void;
  written(cursor: Cursor, batch: Batch): void;
  removed(runId: RunId): void;
}

/** Deliberate faults of a disk, which the checks must detect. */
export type Lie =
  /** An append is acknowledged before it is written. */
  | "eager"
  /** An append is acknowledged and never written. */
  | "loses"
  /** A process keeps writing after another one has opened the log. */
  | "unfenced"
  /** No wake is sent. */
  | "silent"
  /** A new process finds nothing to deliver to other actors. */
  | "forgetful";

/** A node that shares the log. */
interface SharingNode {
  readonly node: string;
  readonly tails: Tails;
  readonly followed: FollowedRuns;
}

export interface DiskOptions {
  readonly scheduler: Scheduler;
  readonly pick: Picker;
  readonly logObserver: LogObserver;
  /** Called when an append was requested, and when one is written but not acknowledged. */
  readonly moment: (moment: "asked" | "written") => void;
  readonly lie?: Lie;
  /** Whether several nodes share it. */
  readonly isShared?: boolean;
}

/**
 * A log that survives processes. Appends are collected and written together after a delay, in order; a crash
 * before that keeps some of the first ones and drops the rest. A write can fail with the same outcome. The
 * last process to open the log is its owner; the previous one is fenced.
 */
export class Disk {
  readonly #options: DiskOptions;
  readonly #delays: Delays;
  readonly #log: MemoryLog;
  /** Until when processes are cut off from it. */
  readonly #cuts = new Map<Doer, Promise<void>>();
  /** Requested, not yet written. */
  #queue: Append[] = [];
  /** Written, but a failed disk shows it only after it is repaired or the run is claimed. */
  #hidden: Append[] = [];
  #owner: Doer | undefined;
  #busy = false;
  #failing = false;
  #writable = true;
  /** The nodes that share it, and what is followed on each. */
  readonly #nodes = new Map<Doer, SharingNode>();
  /** Whose write wakes the readers now. */
  #writer: Doer | undefined;

  constructor(options: DiskOptions) {
    this.#options = options;
    this.#delays = new Delays(options.scheduler, options.pick);
    this.#log = memoryLog({ now: () => options.scheduler.nowMs });
  }

  /** The log as it is, without delays. */
  get log(): EventLog {
    return this.#log;
  }

  get writable(): boolean {
    return this.#writable;
  }

  /** Opens the log for a process and fences the previous owner, or for one of several nodes. */
  open(doer: Doer, node?: string): EventLog {
    if (node === undefined) this.#replaceOwner(doer);
    else this.repair();
    const log = node === undefined ? this.#log : this.#log.openNode(node);
    const tails = new Tails();
    const followed = new FollowedRuns(tails, () => false);
    if (node !== undefined) this.#nodes.set(doer, { node, tails, followed });
    const later =
      <Given extends readonly unknown[], Answer>(ask: (...given: Given) => Promise<Answer>) =>
      (...given: Given): Promise<Answer> =>
        this.#reach(doer, () => this.#delays.read(doer, () => ask(...given)));
    return {
      ...log,
      durability: "full",
      claim: later((runId, options) => this.#claim(doer, log, runId, options)),
      append: (cursor, batch) => this.#reach(doer, () => this.#append(doer, cursor, batch)),
      nodes: () => ({
        heartbeat: later((self, forgotten) => this.#heartbeat(log, self, forgotten)),
        renew: later((self) => this.#renew(log, self)),
      }),
      release: (cursor) => log.release(cursor),
      read: later(async (runId: RunId, options: ReadOptions) => log.read(runId, options)),
      ...(node !== undefined && { wakes: () => this.#wakesOf(doer, node) }),
      tail: (runId, wake) => {
        const stopCarried = followed.tail(runId, wake);
        const stop = log.tail(runId, () => this.#wake(doer, wake));
        return () => {
          stopCarried();
          stop();
        };
      },
      watch: (wake) => log.watch((runId) => this.#wake(doer, () => wake(runId))),
      lookup: later(log.lookup),
      requests: later(log.requests),
      run: later(log.run),
      find: later(log.find),
      list: later(log.list),
      runIds: later(log.runIds),
      holdings: later(log.holdings),
      open: later(log.open),
      waking: later(log.waking),
      parked: later(log.parked),
      waits: later(log.waits),
      outbox: later(this.#options.lie === "forgetful" ? async () => [] : log.outbox),
      snapshot: later(log.snapshot),
      unreferenced: later(log.unreferenced),
      remove: later((cursor) => this.#remove(doer, cursor)),
      removeIdle: later((runs) => this.#removeIdle(doer, runs)),
      health: () => (this.#writable ? { writable: true } : { writable: false, reason: "the disk is gone" }),
      close: async () => {},
    };
  }

  /** Cuts a process off: what it asks, or the answer, arrives only later. */
  cut(doer: Doer, forMs: number): void {
    const over = new Promise<void>((resolve) => {
      this.#options.scheduler.timer(outsider, forMs, resolve);
    });
    this.#cuts.set(doer, over);
    void over.then(() => {
      if (this.#cuts.get(doer) === over) this.#cuts.delete(doer);
    });
  }

  /** A process has died: a part of its pending writes is written. */
  died(doer: Doer): void {
    if (this.#owner === doer || this.#options.isShared === true) this.#settle(doer);
    if (this.#owner === doer) this.#owner = undefined;
    this.#queue = this.#queue.filter((append) => append.doer !== doer);
  }

  /** Lets the next write fail. */
  failNext(): void {
    this.#failing = true;
  }

  /** Repairs a failed disk. */
  repair(): void {
    this.#failing = false;
    this.#writable = true;
    const hidden = this.#hidden;
    this.#hidden = [];
    for (const append of hidden) void this.#write(append);
  }

  /** Another process claims a run and releases it. */
  async steal(runId: RunId): Promise<void> {
    const { cursor } = await this.#log.claim(runId);
    this.#options.logObserver.claimed(cursor);
    this.#log.release(cursor);
  }

  #replaceOwner(doer: Doer): void {
    if (this.#owner) this.#settle(this.#owner);
    this.#owner = doer;
    this.repair();
    // After the processes of the last write were notified.
    void Promise.resolve().then(() => this.#options.logObserver.opened());
  }

  #reach<Answer>(doer: Doer, ask: () => Promise<Answer>): Promise<Answer> {
    const cut = this.#cuts.get(doer);
    return cut === undefined ? ask() : this.#reachLater(cut, ask);
  }

  async #reachLater<Answer>(cut: Promise<void>, ask: () => Promise<Answer>): Promise<Answer> {
    if (this.#options.pick.chance(50)) {
      await cut;
      return ask();
    }
    const answer = ask();
    answer.catch(() => {});
    await cut;
    return answer;
  }

  async #heartbeat(
    log: EventLog,
    self: NodePresence,
    forgotten?: readonly ForgottenRow[],
  ): Promise<readonly NodeRow[]> {
    if (!this.#writable) throw new Unavailable("the disk is gone");
    return (await log.nodes?.().heartbeat(self, forgotten)) ?? [];
  }

  async #renew(log: EventLog, self: NodePresence): Promise<void> {
    if (!this.#writable) throw new Unavailable("the disk is gone");
    await log.nodes?.().renew?.(self);
  }

  async #claim(doer: Doer, log: EventLog, runId: RunId, options?: ClaimOptions): Promise<Claim> {
    this.#checkOwner(doer);
    const mine = ({ cursor }: Append): boolean => cursor.runId === runId;
    for (const append of this.#hidden.filter(mine)) void this.#write(append);
    this.#hidden = this.#hidden.filter((append) => !mine(append));
    const claim = await log.claim(runId, options);
    this.#options.logObserver.claimed(claim.cursor);
    return claim;
  }

  async #remove(doer: Doer, cursor: Cursor): Promise<readonly string[]> {
    this.#checkOwner(doer);
    if (!this.#writable) throw new Unavailable("the disk is gone");
    const things = await this.#log.remove(cursor);
    this.#options.logObserver.removed(cursor.runId);
    return things;
  }

  async #removeIdle(doer: Doer, runs: readonly SeenRun[]): Promise<readonly RunId[]> {
    this.#checkOwner(doer);
    if (!this.#writable) throw new Unavailable("the disk is gone");
    const removed = await this.#log.removeIdle(runs);
    for (const runId of removed) this.#options.logObserver.removed(runId);
    return removed;
  }

  #checkOwner(doer: Doer): void {
    if (!this.#isOwner(doer)) throw new Fenced("another process has opened the log");
  }

  #append(doer: Doer, cursor: Cursor, batch: Batch): Promise<Cursor> {
    return new Promise((resolve, reject) => {
      if (!this.#writable) {
        this.#delays.tell(doer, () => reject(new Unavailable("the disk is gone")));
        return;
      }
      this.#queue.push({ doer, cursor, batch: copyOf(batch), resolve, reject });
      if (this.#options.lie === "eager") this.#delays.tell(doer, () => resolve(headAfter(cursor, batch)));
      this.#options.moment("asked");
      this.#begin();
    });
  }

  /** Starts to write the collected appends. */
  #begin(): void {
    if (this.#busy || this.#queue.length === 0) return;
    this.#busy = true;
    this.#delays.after(() => {
      this.#busy = false;
      this.#end();
    });
  }

  #end(): void {
    const { pick, moment } = this.#options;
    // An append requested a moment ago may miss this write.
    const count = pick.chance(80) ? this.#queue.length : 1 + pick.below(this.#queue.length);
    const group = this.#queue.splice(0, count);
    if (this.#failing && group.length > 0) this.#fail(group);
    else for (const append of group) this.#writeOwn(append);
    if (group.length > 0) moment("written");
    this.#begin();
  }

  /** The write fails: some of it is on the disk, visible at once or later, without an acknowledgement. */
  #fail(group: readonly Append[]): void {
    const { pick } = this.#options;
    this.#failing = false;
    this.#writable = false;
    const all = [...group, ...this.#queue.splice(0)].filter((append) => this.#isOwners(append));
    const count = pick.below(all.length + 1);
    const isHidden = pick.chance(50);
    for (const [index, append] of all.entries()) {
      const { doer, reject } = append;
      this.#delays.tell(doer, () => reject(new Unavailable("the disk is gone")));
      if (index >= count) continue;
      const unheard = { ...append, resolve() {}, reject() {} };
      if (isHidden) this.#hidden.push(unheard);
      else void this.#write(unheard);
    }
  }

  /** Decides the outcome of the writes of a process that is no longer involved. */
  #settle(doer: Doer): void {
    const own = this.#queue.filter((append) => append.doer === doer);
    const kept = own.slice(0, this.#options.pick.below(own.length + 1));
    this.#queue = this.#queue.filter((append) => !kept.includes(append));
    for (const append of kept) void this.#write(append);
  }

  #writeOwn(append: Append): void {
    if (this.#options.lie === "unfenced" || this.#isOwners(append)) void this.#write(append);
  }

  /** Whether an append comes from the owner of the log; another process is fenced. */
  #isOwners({ doer, reject }: Append): boolean {
    if (this.#isOwner(doer)) return true;
    this.#delays.tell(doer, () => reject(new Fenced("another process has opened the log")));
    return false;
  }

  /** Of several nodes each one writes; the claims of runs decide. */
  #isOwner(doer: Doer): boolean {
    return this.#options.isShared === true || this.#owner === doer;
  }

  async #write({ doer, cursor, batch, resolve, reject }: Append): Promise<void> {
    const { lie, pick, logObserver } = this.#options;
    if (lie === "loses" && pick.chance(20)) {
      this.#delays.tell(doer, () => resolve(headAfter(cursor, batch)));
      return;
    }
    try {
      this.#writer = doer;
      const appended = this.#log.append(cursor, batch);
      this.#writer = undefined;
      const next = await appended;
      logObserver.written(cursor, batch);
      this.#delays.tell(doer, () => {
        resolve(next);
        if (lie === "silent") return;
        const { runId, epoch } = cursor;
        this.#nodes.get(doer)?.followed.carrier?.tell([{ runId, epoch }]);
      });
    } catch (error) {
      this.#delays.tell(doer, () => reject(error as Error));
    }
  }

  /** The wakes of a node: those over the engine arrive at all others, late. */
  #wakesOf(doer: Doer, node: string): LogWakes {
    const { scheduler, lie } = this.#options;
    const toOthers = (tell: (other: SharingNode) => void): void => {
      for (const [other, sharing] of this.#nodes)
        if (other !== doer && other.alive) this.#delays.tell(other, () => tell(sharing));
    };
    const wake = ({ tails }: SharingNode, changes: readonly RunWake[]): void => {
      if (lie !== "silent") for (const { runId } of changes) tails.wake(runId);
    };
    const own = this.#nodes.get(doer);
    if (own === undefined) throw new Error("only a node has wakes");
    return {
      carry: (carrier) => own.followed.carry(carrier),
      heard: (changes) => wake(own, changes),
      tellAll: (changes) => toOthers((other) => wake(other, changes)),
      disown: (disowned, number) =>
        toOthers((other) => {
          if (other.node === disowned) other.followed.carrier?.disowned(node, number);
        }),
      look: () =>
        scheduler.post(doer, () =>
          wake(
            own,
            [...own.tails.runIds].map((runId) => ({ runId, epoch: 0 })),
          ),
        ),
    };
  }

  /** Whether the node that writes tells another one itself. */
  #isCarried(doer: Doer): boolean {
    const writer = this.#writer && this.#nodes.get(this.#writer)?.followed.carrier;
    const target = this.#nodes.get(doer);
    if (writer === undefined || target === undefined || this.#writer === doer) return false;
    return writer.reachesAll && writer.standingOf(target.node) === "carried";
  }

  /** Between processes a wake can get lost. */
  #wake(doer: Doer, wake: () => void): void {
    const { pick, lie, scheduler } = this.#options;
    if (lie === "silent" || !doer.alive) return;
    // The nodes tell each other; the engine looks by itself too.
    if (this.#isCarried(doer)) {
      scheduler.timer(doer, 5_000, wake);
      return;
    }
    // The hint for another node is lost, and the engine looks by itself.
    if (this.#options.isShared === true && pick.chance(10)) scheduler.timer(doer, pick.below(5_000), wake);
    else if (this.#isOwner(doer) || pick.chance(50)) this.#delays.wake(doer, wake);
  }
}
