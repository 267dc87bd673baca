import { AgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import type { NodeDirectory, NodePresence, NodeRow } from "../ports/node-directory.ts";
import type { Member, RouterHealth } from "../ports/router.ts";
import type { Json } from "../protocol/json.ts";
import { within } from "../shared/clock.ts";
import {
  HEARTBEAT_MS,
  LEASE_MS,
  forgettable,
  initialMembership,
  livenessOf,
  transition,
  membershipView,
} from "./membership.ts";
import type { Liveness, Membership, MembershipFact, View } from "./membership.ts";
import type { Transport } from "./transport.ts";

/** The longest wait for the answer to a greeting, in milliseconds; longer than it takes to judge a node dead. */
const GREET_MS = 3_000;

/** The longest wait for the end of an earlier process with the address of this node, in milliseconds. */
const OUTLIVE_MS = 30_000;

/** The longest wait for the answers of the others, in milliseconds. */
const TELL_MS = HEARTBEAT_MS;

/** An empty message. Its receiver reads the table of nodes, because the row of the sender has changed. */
const GREETING: Json = { hello: true };

/** Whether a message of another node is only a greeting. */
export function isGreeting(message: Json): boolean {
  return typeof message === "object" && message !== null && "hello" in message;
}

export interface HeartbeatOptions {
  readonly directory: NodeDirectory;
  readonly transport: Transport;
  readonly node: string;
  /** Whether this node takes wakes of other nodes. */
  readonly wakes: boolean;
  readonly environment: Environment;
  /** Reports errors that belong to no message. */
  readonly fault: (message: string, thrown: unknown) => void;
  /** Called after nodes have joined, died or left, or have begun to drain. */
  readonly changed: () => void;
}

/** Writes the row of this node into the table of nodes again and again, and keeps what it knows of the other nodes. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
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

  constructor(options: HeartbeatOptions) {
    const { node, transport, wakes } = options;
    this.#options = options;
    this.#membership = initialMembership({
      node,
      url: transport.url,
      state: "joining",
      agents: {},
      ...(wakes && { wakes }),
    });
  }

  /**
   * Joins the other nodes. Resolves when they are known, this node takes runs, and each living node has got a first message:
   * so a node with another secret, or with the address of another node, fails at its start and not at a message of a run.
   * Rejects also if this node stops before.
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
    await Promise.all(this.#livingOthers.map((member) => this.#greet(member)));
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
    this.#stopTimer();
    this.#endPause();
    for (const node of this.#onDead.keys()) this.#tellDead(node);
  }

  /** Reads the table of nodes at once: another node has changed what it says about itself. */
  look(): void {
    if (this.#isLookWanted) return;
    this.#isLookWanted = true;
    void this.#send();
  }

  get self(): NodePresence {
    return this.#membership.self;
  }

  /** All known nodes, this one first. */
  get members(): readonly Member[] {
    const { self, nodes } = this.#membership;
    const members: Member[] = [{ ...self, isSelf: true, isAlive: true, ageMs: 0 }];
    for (const { presence, ageMs, isDead } of nodes.values())
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
    return livenessOf(this.#membership, node, this.#now);
  }

  /** Whether a node still owns the runs that send its messages: it has released none, and nobody can have judged it dead. */
  ownsItsRuns(node: string): boolean {
    return this.find(node)?.state === "active" && this.livenessOf(node) === "alive";
  }

  get view(): View {
    return membershipView(this.#membership, this.#now);
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
    return this.#now - this.#membership.readMs;
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

  get #livingOthers(): readonly Member[] {
    return this.members.filter(({ isSelf, isAlive }) => !isSelf && isAlive);
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
    const sentMs = this.#now;
    let rows: readonly NodeRow[];
    try {
      rows = await this.#options.directory.heartbeat(this.self, forgettable(this.#membership, sentMs));
    } catch {
      this.#learn({ type: "failed" });
      return false;
    }
    this.#learn({ type: "answered", rows, sentMs });
    return true;
  }

  #learn(fact: MembershipFact): void {
    const { membership, actions } = transition(this.#membership, fact, this.#now);
    this.#membership = membership;
    for (const action of actions)
      if (action.type === "dead") this.#tellDead(action.node);
      else this.#options.changed();
  }

  #tellDead(node: string): void {
    const called = this.#onDead.get(node);
    this.#onDead.delete(node);
    for (const dead of called ?? []) dead();
  }

  /** Changes the state of this node in the table of nodes; resolves when it is written, or after `LEASE_MS`. */
  async #say(state: NodePresence["state"]): Promise<void> {
    this.#learn({ type: "said", self: { ...this.self, state } });
    this.#endPause();
    await within(this.#options.environment, LEASE_MS, this.#send());
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#stopTimer = this.#options.environment.timer(HEARTBEAT_MS, () => {
      void this.#send().then(() => this.#schedule());
    });
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#stopTimer = this.#options.environment.timer(HEARTBEAT_MS, resolve);
      this.#endPause = resolve;
    });
  }

  /** Makes the other nodes read the table of nodes at once. A node that it does not reach reads it at its next heartbeat. */
  async #tellOthers(): Promise<void> {
    const { transport, environment } = this.#options;
    const abort = new AbortController();
    const stopTimer = environment.timer(TELL_MS, () => abort.abort());
    await Promise.allSettled(
      this.#livingOthers.map(({ url }) => transport.send(url, GREETING, abort.signal)),
    );
    stopTimer();
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
    const stopTimer = environment.timer(GREET_MS, () => abort.abort());
    const stopWaiting = this.onceDead(node, () => abort.abort());
    try {
      await transport.send(url, GREETING, abort.signal);
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
    const untilMs = this.#now + OUTLIVE_MS;
    for (let waitMs = GREET_MS; this.#now < untilMs; waitMs = TELL_MS) {
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
