import { AgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import type { NodeDirectory, NodePresence, NodeRow } from "../ports/node-directory.ts";
import type { Member, RouterHealth } from "../ports/router.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import { within } from "../shared/clock.ts";
import { LruMap } from "../shared/lru-map.ts";
import { sample } from "../shared/sample.ts";
import { toSelfRumors } from "./gossip-messages.ts";
import { Gossip } from "./gossip.ts";
import {
  DOUBTED_HEARTBEAT_MS,
  HEARTBEAT_MS,
  RARE_HEARTBEAT_MS,
  isDoubted,
  isInDoubt,
  leaseMsOf,
  lookMs,
  membershipView,
  usesGossip,
} from "./known-nodes.ts";
import type { Liveness, Membership, MembershipAction, View } from "./known-nodes.ts";
import { initialMembership, livenessOf, transition } from "./membership.ts";
import type { MembershipFact } from "./membership.ts";
import { forgettable } from "./node-rows.ts";
import { sendWithin } from "./transport.ts";
import type { Transport } from "./transport.ts";

/** The longest wait for the answer to a greeting after a lease, in milliseconds: longer than it takes to judge a node dead. */
const GREET_MS = 1_500;

/** The longest wait for the end of an earlier process with the address of this node after a lease, in milliseconds. */
const OUTLIVE_MS = 30_000;

/** The longest wait for the answers of the others, in milliseconds. */
const TELL_MS = HEARTBEAT_MS;

/** A table of nodes that owes an answer for so long is not reached, in milliseconds. */
const OWED_MS = 600;

/** How many nodes a node greets that uses gossip; they tell the others. */
const MOST_GREETED = 10;

/** The most nodes that are known to be gone. */
const MOST_GONE = 10_000;

/** Whether a message of another node is only a greeting: its row has changed. */
export function isGreeting(message: Json): boolean {
  return typeof message === "object" && message !== null && "hello" in message;
}

function toGreeting(self: NodePresence): Json {
  return { hello: self as unknown as Json };
}

export interface HeartbeatOptions {
  readonly directory: NodeDirectory;
  readonly transport: Transport;
  readonly node: string;
  /** Whether this node takes wakes of other nodes. */
  readonly wakes: boolean;
  /** With more living nodes than this, they ping each other, and heartbeats are rare. */
  readonly gossipAbove: number;
  /** The lease of this node, if it is not the usual one. */
  readonly deadAfterMs?: number;
  readonly environment: Environment;
  /** Reports errors that belong to no message. */
  readonly fault: (message: string, thrown: unknown) => void;
  /** How many runs say texts on this node. */
  readonly speaking: () => number;
  /** Called after nodes have joined, died or left, or have begun to drain. */
  readonly changed: () => void;
}

/**
 * Writes the row of this node into the table of nodes again and again, and keeps what it knows of the other nodes. Among many
 * nodes it does so now and then, and pings the others.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #gossip: Gossip;
  #membership: Membership;
  /** What is called when a node is dead. */
  readonly #onDead = new Map<string, Set<() => void>>();
  #stopTimer = (): void => {};
  #endPause = (): void => {};
  #isStopped = false;
  /** The newest heartbeat. They run one after the other, so that an older one does not overwrite a newer one. */
  #newest: Promise<boolean> = Promise.resolve(true);
  /** Whether `look` has requested a heartbeat that has not begun. It serves all calls of `look` before it begins. */
  #isLookWanted = false;
  /** The same for a heartbeat that reads no rows. */
  #isRenewalWanted = false;
  /** The owners of runs that were not in the rows, and those of them that were not there either when these were read again. */
  readonly #sought = new Set<string>();
  readonly #gone = new LruMap<string, true>(MOST_GONE);
  /** When the newest heartbeat began, and whether it was answered or has failed. */
  #sentMs = -Infinity;
  #isOver = true;

  constructor(options: HeartbeatOptions) {
    const { node, transport, wakes, gossipAbove, deadAfterMs, environment, speaking } = options;
    this.#options = options;
    this.#gossip = new Gossip({
      transport,
      environment,
      membership: () => this.#membership,
      speaking,
      learn: (fact) => this.#learn(fact),
    });
    this.#membership = initialMembership(
      {
        node,
        url: transport.url,
        state: "joining",
        agents: {},
        gossip: "able",
        relays: true,
        ...(wakes && { wakes }),
        ...(deadAfterMs !== undefined && { deadAfterMs }),
      },
      gossipAbove,
    );
  }

  /**
   * Joins the other nodes. Resolves when they are known, this node takes runs, and each living node, or some of many, has got a
   * first message: so a node with another secret, or with the address of another node, fails at its start and not at a message
   * of a run. Rejects also if this node stops before.
   */
  async join(agents: NodePresence["agents"]): Promise<void> {
    this.#membership = { ...this.#membership, self: { ...this.self, agents } };
    for (;;) {
      if (!this.#is("joining")) throw stopping();
      if (await this.#send()) break;
      if (this.#is("joining")) await this.#pause();
    }
    if (this.#is("joining")) await this.#say("active");
    if (!this.#is("active")) throw stopping();
    this.#schedule();
    await Promise.all(this.#toGreet.map((member) => this.#greet(member)));
  }

  /** From now on the other nodes give this one no runs. */
  async drain(): Promise<void> {
    await this.#say("draining");
    await this.#tellOthers();
  }

  /** Leaves the other nodes, and tells them unless this node has failed to join. */
  async leave({ tell }: { readonly tell: boolean }): Promise<void> {
    await this.#say("left");
    if (tell) await this.#tellOthers();
    this.#isStopped = true;
    this.#gossip.stop();
    this.#stopTimer();
    this.#endPause();
    for (const node of this.#onDead.keys()) this.#tellDead(node);
  }

  /** Another node has changed what it says about itself. */
  greeted(message: Json): void {
    const rumors = toSelfRumors((message as JsonObject)["hello"]);
    if (rumors.length === 0 || !usesGossip(this.#membership)) this.look();
    else this.#learn({ type: "told", rumors });
  }

  /** Reads the table of nodes at once. */
  look(): void {
    if (this.#isLookWanted) return;
    this.#isLookWanted = true;
    void this.#send();
  }

  /** Answers a message of another node about the nodes. */
  receive(message: Json): Promise<Json> {
    return this.#gossip.receive(message);
  }

  get self(): NodePresence {
    return this.#membership.self;
  }

  /** All known nodes, this one first. */
  get members(): readonly Member[] {
    const { self, nodes } = this.#membership;
    const members: Member[] = [{ ...self, isSelf: true, isAlive: true, ageMs: 0 }];
    for (const { presence, ageMs, isDead } of nodes.values)
      if (presence.node !== self.node) members.push({ ...presence, isSelf: false, isAlive: !isDead, ageMs });
    return members;
  }

  /** The nodes that take runs. */
  get takers(): readonly Member[] {
    return this.members.filter(({ isAlive, state }) => isAlive && state === "active");
  }

  find(node: string): NodePresence | undefined {
    return node === this.self.node ? this.self : this.#membership.nodes.get(node)?.presence;
  }

  livenessOf(node: string): Liveness {
    const { nodes } = this.#membership;
    if (nodes.has(node) || this.#gone.get(node) === true || !usesGossip(this.#membership))
      return livenessOf(this.#membership, node, this.#now);
    // It may have joined since this node has read the rows.
    this.#sought.add(node);
    this.look();
    return "suspect";
  }

  /** Whether a node still owns the runs that send its messages: it has released none, and no node can have judged it dead. */
  ownsItsRuns(node: string): boolean {
    return this.find(node)?.state === "active" && this.livenessOf(node) === "alive";
  }

  get view(): View {
    return membershipView(this.#membership, this.#now);
  }

  /** About how many runs say texts on the other nodes. */
  get speakingElsewhere(): number {
    const { self, nodes } = this.#membership;
    const others = nodes.values.filter(({ presence, isDead }) => presence.node !== self.node && !isDead);
    if (usesGossip(this.#membership)) return Math.round(others.length * this.#gossip.speakingElsewhere);
    return others.reduce((sum, { presence }) => sum + (presence.speaking ?? 0), 0);
  }

  get health(): RouterHealth {
    const { nodes, self } = this.#membership;
    if (nodes.size === 0) return { ready: false, reason: "the other nodes are not known yet" };
    if (this.view === "none")
      return { ready: false, reason: "the table of nodes cannot be reached at present" };
    if (self.state !== "active") return { ready: false, reason: "the node takes no more runs" };
    return { ready: true };
  }

  /** The age of the newest answered heartbeat, in milliseconds. */
  get ageMs(): number {
    const { readMs, renewedMs } = this.#membership;
    return this.#now - Math.max(readMs, renewedMs);
  }

  /** Calls `dead` once, when a node is dead or has left. The returned function cancels that. */
  onceDead(node: string, dead: () => void): () => void {
    if (this.#isStopped || this.livenessOf(node) === "dead") {
      dead();
      return () => {};
    }
    const called = this.#onDead.get(node) ?? new Set();
    this.#onDead.set(node, called);
    called.add(dead);
    return () => {
      called.delete(dead);
      if (called.size === 0) this.#onDead.delete(node);
    };
  }

  get #now(): number {
    return this.#options.environment.monotonic();
  }

  /** The nodes to which this one says itself that it has joined, drains or leaves. */
  get #toGreet(): readonly Member[] {
    const { transport, environment } = this.#options;
    const others = this.members.filter(({ isSelf, isAlive }) => !isSelf && isAlive);
    if (this.self.gossip !== "used") return others;
    const isTold = ({ relays, url }: Member): boolean => relays === true && url !== transport.url;
    const some = sample(others.filter(isTold), MOST_GREETED, () => environment.random());
    return [...others.filter((member) => !isTold(member)), ...some];
  }

  #is(state: NodePresence["state"]): boolean {
    return this.self.state === state;
  }

  /** Sends a heartbeat after the one before it. Returns whether it was answered. */
  #send(): Promise<boolean> {
    this.#newest = this.#newest.then(() => this.#sendNow());
    return this.#newest;
  }

  async #sendNow(): Promise<boolean> {
    this.#isLookWanted = false;
    if (this.#isStopped) return false;
    const sentMs = this.#begin();
    const sought = [...this.#sought];
    const speaking = this.#options.speaking();
    const self = { ...this.self, ...(speaking > 0 && { speaking }) };
    let rows: readonly NodeRow[];
    try {
      rows = await this.#options.directory.heartbeat(self, forgettable(this.#membership, sentMs));
    } catch {
      this.#learn({ type: "failed" });
      return false;
    } finally {
      this.#isOver = true;
    }
    this.#learn({ type: "answered", rows, sentMs });
    for (const node of sought) {
      this.#sought.delete(node);
      if (!this.#membership.nodes.has(node)) this.#gone.set(node, true);
    }
    return true;
  }

  /** Sends a heartbeat after the one before it, and reads none of the others. */
  #renew(): void {
    if (this.#options.directory.renew === undefined) {
      this.look();
      return;
    }
    if (this.#isRenewalWanted || this.#isLookWanted) return;
    this.#isRenewalWanted = true;
    this.#newest = this.#newest.then(() => this.#renewNow());
  }

  async #renewNow(): Promise<boolean> {
    this.#isRenewalWanted = false;
    if (this.#isStopped) return false;
    const sentMs = this.#begin();
    try {
      await this.#options.directory.renew?.(this.self);
    } catch {
      this.#learn({ type: "failed" });
      return false;
    } finally {
      this.#isOver = true;
    }
    this.#learn({ type: "renewed", sentMs });
    return true;
  }

  #begin(): number {
    this.#isOver = false;
    this.#sentMs = this.#now;
    return this.#sentMs;
  }

  #learn(fact: MembershipFact): void {
    const { membership, actions } = transition(this.#membership, fact, this.#now);
    this.#membership = membership;
    for (const action of actions) this.#do(action);
  }

  #do(action: MembershipAction): void {
    switch (action.type) {
      case "dead":
        this.#tellDead(action.node);
        return;
      case "changed":
        this.#options.changed();
        return;
      case "tell":
        this.#gossip.tell(action.rumor);
        return;
      case "beat":
        this.look();
        return;
      case "renew":
        this.#renew();
        return;
      default: {
        const never: never = action;
        return never;
      }
    }
  }

  #tellDead(node: string): void {
    const called = this.#onDead.get(node);
    this.#onDead.delete(node);
    for (const dead of called ?? []) dead();
  }

  /** Changes the state of this node in the table of nodes; resolves when it is written, or after a lease. */
  async #say(state: NodePresence["state"]): Promise<void> {
    this.#learn({ type: "said", self: { ...this.self, state } });
    this.#endPause();
    await within(this.#options.environment, leaseMsOf(this.self), this.#send());
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#stopTimer = this.#options.environment.timer(HEARTBEAT_MS, () => {
      if (usesGossip(this.#membership)) this.#round();
      else void this.#send().then(() => this.#schedule());
    });
  }

  /** A round of gossip, which waits for no heartbeat. */
  #round(): void {
    if (this.#isUnanswered) this.#learn({ type: "failed" });
    this.#learn({ type: "ticked" });
    if (isInDoubt(this.#membership, this.#now)) this.look();
    else if (this.#isOver && this.#now - this.#sentMs >= this.#periodMs) {
      if (this.#isLookDue) this.look();
      else this.#renew();
    }
    this.#gossip.round();
    this.#schedule();
  }

  /** Whether the table of nodes owes an answer for so long that it is not reached. A node that stood still may not have read it. */
  get #isUnanswered(): boolean {
    const waitedMs = this.#now - this.#sentMs;
    if (this.#isOver || waitedMs < HEARTBEAT_MS) return false;
    if (this.#now - this.#membership.tickedMs > 2 * HEARTBEAT_MS) return waitedMs > leaseMsOf(this.self);
    return Math.max(waitedMs, this.#owedMs) >= OWED_MS;
  }

  /** The time between two heartbeats, in milliseconds. One is tried at once when the engine owes an answer. */
  get #periodMs(): number {
    if (this.#membership.steadySinceMs === undefined || this.#owedMs >= HEARTBEAT_MS) return HEARTBEAT_MS;
    return isDoubted(this.#membership, this.#now) ? DOUBTED_HEARTBEAT_MS : RARE_HEARTBEAT_MS;
  }

  get #owedMs(): number {
    return this.#options.directory.owedMs?.() ?? 0;
  }

  get #isLookDue(): boolean {
    const { directory } = this.#options;
    return directory.renew === undefined || this.#now - this.#membership.readMs >= lookMs(this.#membership);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#stopTimer = this.#options.environment.timer(HEARTBEAT_MS, resolve);
      this.#endPause = resolve;
    });
  }

  /** Greets other nodes. One that is not reached reads the table of nodes later, or does not reach it either. */
  async #tellOthers(): Promise<void> {
    const { transport, environment } = this.#options;
    const limit = { environment, ms: TELL_MS };
    await Promise.allSettled(
      this.#toGreet.map(({ url }) => sendWithin(limit, transport, url, toGreeting(this.self))),
    );
  }

  async #greet({ node, url }: Member): Promise<void> {
    const { transport, environment, fault } = this.#options;
    if (url === transport.url) {
      if (!(await this.#outlive(node, url)))
        fault(
          `another process may use the address ${url}`,
          new Error(`the table of nodes answers too slowly to tell whether node ${node} has ended`),
        );
      return;
    }
    const abort = new AbortController();
    const stopTimer = environment.timer(GREET_MS + leaseMsOf(this.self), () => abort.abort());
    const stopWaiting = this.onceDead(node, () => abort.abort());
    try {
      await transport.send(url, toGreeting(this.self), abort.signal);
    } catch (error) {
      if (error instanceof AgentError && error.code === "unauthorized") throw error;
      // One that has no new heartbeat is dead. A node that has just joined judges that only later.
      if (this.ownsItsRuns(node)) fault(`node ${node} does not answer at ${url}`, error);
    } finally {
      stopTimer();
      stopWaiting();
    }
  }

  /**
   * Waits until the earlier process with the address of this node is judged dead, and throws if it is a node that still sends
   * heartbeats. Returns false if this node cannot tell in time, because the table of nodes answers too slowly.
   */
  async #outlive(node: string, url: string): Promise<boolean> {
    const { environment } = this.#options;
    const untilMs = this.#now + OUTLIVE_MS + leaseMsOf(this.self);
    for (let waitMs = GREET_MS + leaseMsOf(this.self); this.#now < untilMs; waitMs = TELL_MS) {
      const { promise: dead, resolve } = Promise.withResolvers<void>();
      const stopWaiting = this.onceDead(node, resolve);
      await within(environment, waitMs, dead);
      stopWaiting();
      if (this.livenessOf(node) === "dead" || !this.#is("active")) return true;
      // A process that has ended may have sent one that is stored later.
      if ((this.#membership.nodes.get(node)?.heartbeats ?? 0) >= 2)
        throw new AgentError("conflict", `another node has the address ${url} too`, {
          hint: "give each node an address of its own",
        });
    }
    return false;
  }
}

function stopping(): AgentError {
  return new AgentError("unavailable", "the server is stopping", { retryAfterS: 1 });
}
