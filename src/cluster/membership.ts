import { AgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import type { NodeDirectory, NodeEntry, NodePresence } from "../ports/node-directory.ts";
import type { Member, RouterHealth } from "../ports/router.ts";
import { Absences } from "./absences.ts";
import { Beats } from "./beats.ts";
import { pickFor } from "./placement.ts";

/** The time between two beats, in milliseconds. */
const BEAT_MS = 300;

/** A node without a beat for this long is dead, in milliseconds. */
const DEAD_MS = 1_500;

/**
 * After a longer time without a beat, a node suspects itself: the beats of the others may have waited as long, and the
 * newest one of another node can be older by the time between two beats.
 */
const LATE_MS = DEAD_MS - BEAT_MS;

/** How long after its absence a node may hold messages from before it, in milliseconds: as long as a router sends one. */
const AWAY_MS = 10_000;

export interface MembershipOptions {
  readonly directory: NodeDirectory;
  readonly node: string;
  readonly url: string;
  readonly environment: Environment;
  /** Called after nodes have joined, died or left, or have begun to drain. */
  readonly changed: () => void;
}

/**
 * The nodes that share the log, as this one knows them. After a pause of this process or of the engine, this node judges no
 * other node dead until its own beats have been answered in time for `DEAD_MS`: all nodes may have paused together.
 */
export class Membership {
  readonly #options: MembershipOptions;
  #self: NodePresence;
  #rows: readonly NodeEntry[] = [];
  /** When the rows were read, by this node's monotonic clock. */
  #readMs = -Infinity;
  /** When the newest answered beat was sent, and when this node last noticed that it had been away. */
  #sentMs: number;
  #backMs = -Infinity;
  /** Since when each beat has come in time; `undefined` while one is missing. */
  #soundSinceMs: number | undefined;
  #members: readonly Member[] = [];
  #dead = new Set<string>();
  readonly #beats = new Beats();
  readonly #absences = new Absences(DEAD_MS);
  readonly #waits = new Map<string, Set<() => void>>();
  #stopTimer = (): void => {};
  #stopped = false;
  /** The newest beat. They run one after the other, so that an older one does not overwrite a newer one. */
  #last: Promise<boolean> = Promise.resolve(true);
  #endPause = (): void => {};
  /** Whether `look` has requested a beat that has not begun. That beat serves all calls of `look` before it begins. */
  #isLookWanted = false;

  constructor(options: MembershipOptions) {
    const { node, url } = options;
    this.#options = options;
    this.#self = { node, url, state: "joining", agents: {} };
    this.#sentMs = options.environment.monotonic();
  }

  /** Joins the other nodes. Resolves when they are known and this node takes runs; rejects if it stops before. */
  async join(agents: NodePresence["agents"]): Promise<void> {
    this.#self = { ...this.#self, agents };
    for (;;) {
      if (!this.#isIn("joining")) throw stopping();
      if (await this.#beat()) break;
      if (this.#isIn("joining")) await this.#pause();
    }
    if (this.#isIn("joining")) await this.say("active");
    if (!this.#isIn("active")) throw stopping();
    this.#schedule();
  }

  /** Reads the table of nodes at once: another node has changed what it says about itself. */
  look(): void {
    if (this.#isLookWanted) return;
    this.#isLookWanted = true;
    void this.#beat();
  }

  /** Changes the state of this node in the table of nodes; resolves when it is written, or after `DEAD_MS`. */
  async say(state: NodePresence["state"]): Promise<void> {
    this.#self = { ...this.#self, state };
    this.#update();
    this.#endPause();
    let stopTimer = (): void => {};
    const tooLate = new Promise<void>((resolve) => {
      stopTimer = this.#options.environment.timer(DEAD_MS, resolve);
    });
    await Promise.race([this.#beat(), tooLate]);
    stopTimer();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
    this.#endPause();
    for (const node of this.#waits.keys()) this.#tellGone(node);
  }

  get self(): NodePresence {
    return this.#self;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  /** Whether this node cannot read the table of nodes at present, so that its view of the others is old. */
  get isAway(): boolean {
    return this.beatAgeMs > DEAD_MS || this.#soundSinceMs === undefined;
  }

  /** Whether this node is away, or was away or joined less than `DEAD_MS` ago. Then it judges no other node dead. */
  get isSuspect(): boolean {
    const soundMs = this.#options.environment.monotonic() - (this.#soundSinceMs ?? 0);
    return this.isAway || soundMs < DEAD_MS;
  }

  get health(): RouterHealth {
    if (this.#rows.length === 0) return { ready: false, reason: "the other nodes are not known yet" };
    if (this.isAway) return { ready: false, reason: "the table of nodes cannot be reached at present" };
    if (this.#self.state !== "active") return { ready: false, reason: "the node takes no more runs" };
    return { ready: true };
  }

  isAlive(node: string): boolean {
    return this.#members.some((member) => member.node === node && member.isAlive);
  }

  /**
   * Whether a node has sent beats while this node watched. Two are needed: a process that has ended may have sent one
   * that is stored later.
   */
  hasBeaten(node: string): boolean {
    return this.#beats.changesOf(node) >= 2;
  }

  find(node: string): Member | undefined {
    return this.#members.find((member) => member.node === node);
  }

  /** The nodes that take runs. */
  get takers(): readonly Member[] {
    return this.#members.filter(({ isAlive, state }) => isAlive && state === "active");
  }

  /** Whether this node is picked for a task. A suspect node does none. */
  leads(task: string): boolean {
    if (this.isSuspect) return false;
    const names = this.takers.map(({ node }) => node);
    return pickFor(task, names) === this.#self.node;
  }

  /** Whether this node was away a short time ago, so that others may have taken over its runs. */
  get wasAway(): boolean {
    const now = this.#options.environment.monotonic();
    return this.isStalled || now - this.#backMs < AWAY_MS;
  }

  /**
   * Whether this node was away and has had no answer of the engine since. A message that it handles now may be from
   * before, and its sender may have another answer by now.
   */
  get isStalled(): boolean {
    return this.#options.environment.monotonic() - this.#sentMs > DEAD_MS;
  }

  /**
   * Whether a node still owns the runs that send its messages: it is active, and no other node can have judged it dead
   * lately.
   */
  isSound(node: string): boolean {
    const member = this.find(node);
    if (member?.state !== "active" || this.#absences.has(node)) return false;
    return member.ageMs + this.#options.environment.monotonic() - this.#sentMs < DEAD_MS;
  }

  /** Calls `gone` once, when a node is dead or has left. The returned function cancels that. */
  onceGone(node: string, gone: () => void): () => void {
    if (this.#stopped || !this.isAlive(node)) {
      gone();
      return () => {};
    }
    const waits = this.#waits.get(node) ?? new Set();
    this.#waits.set(node, waits);
    waits.add(gone);
    return () => {
      waits.delete(gone);
      if (waits.size === 0) this.#waits.delete(node);
    };
  }

  /** The age of the newest successful beat, in milliseconds. */
  get beatAgeMs(): number {
    return this.#options.environment.monotonic() - this.#readMs;
  }

  /** Sends a beat after the one before it. Returns whether it was answered. */
  #beat(): Promise<boolean> {
    this.#last = this.#last.then(() => this.#beatNow());
    return this.#last;
  }

  async #beatNow(): Promise<boolean> {
    const { directory, environment } = this.#options;
    this.#isLookWanted = false;
    if (this.#stopped) return false;
    const sentMs = environment.monotonic();
    try {
      const answer = await directory.beat(this.#self);
      const now = environment.monotonic();
      const rows = this.#beats.read(answer, { askedMs: sentMs, now });
      const lateMs = now - this.#readMs;
      if (now - this.#sentMs > DEAD_MS) this.#backMs = now;
      this.#absences.notice(answer, { before: this.#rows, askedMs: this.#sentMs, now });
      this.#sentMs = sentMs;
      this.#rows = rows;
      this.#readMs = now;
      // The answer may have waited for the engine, and the beats of the others with it.
      if (lateMs > LATE_MS || this.#soundSinceMs === undefined) this.#soundSinceMs = now;
      this.#update();
      return true;
    } catch {
      this.#soundSinceMs = undefined;
      return false;
    }
  }

  #isIn(state: NodePresence["state"]): boolean {
    return this.#self.state === state;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#stopTimer = this.#options.environment.timer(BEAT_MS, () => {
      void this.#beat().then(() => this.#schedule());
    });
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#stopTimer = this.#options.environment.timer(BEAT_MS, resolve);
      this.#endPause = resolve;
    });
  }

  #update(): void {
    const { node: own } = this.#options;
    const isSuspect = this.isSuspect;
    const members: Member[] = [{ ...this.#self, isSelf: true, isAlive: true, ageMs: 0 }];
    for (const row of this.#rows) {
      if (row.node === own) continue;
      const isDead = row.ageMs > DEAD_MS && (!isSuspect || this.#dead.has(row.node));
      members.push({ ...row, isSelf: false, isAlive: row.state !== "left" && !isDead });
    }
    const before = this.#members;
    this.#members = members;
    this.#dead = new Set(members.filter(({ isAlive }) => !isAlive).map(({ node }) => node));
    for (const { node } of before) if (!this.isAlive(node)) this.#tellGone(node);
    if (serving(members) !== serving(before)) this.#options.changed();
  }

  #tellGone(node: string): void {
    const waits = this.#waits.get(node);
    this.#waits.delete(node);
    for (const gone of waits ?? []) gone();
  }
}

/** The facts that decide which node gets a run, as a text: the living nodes, and whether they take runs. */
function serving(members: readonly Member[]): string {
  const alive = members.filter(({ isAlive, state }) => isAlive && state !== "joining");
  return alive
    .map(({ node, state }) => `${node} ${state}`)
    .toSorted()
    .join();
}

function stopping(): AgentError {
  return new AgentError("unavailable", "the server is stopping", { retryAfterS: 1 });
}
