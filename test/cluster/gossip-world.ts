import { isGossipMessage } from "../../src/cluster/gossip-messages.ts";
import { Heartbeat, isGreeting } from "../../src/cluster/heartbeat.ts";
import { LEASE_MS } from "../../src/cluster/known-nodes.ts";
import type { Liveness } from "../../src/cluster/known-nodes.ts";
import type { Transport } from "../../src/cluster/transport.ts";
import type { Environment } from "../../src/ports/environment.ts";
import type { NodeDirectory, NodePresence } from "../../src/ports/node-directory.ts";
import type { Json, JsonObject } from "../../src/protocol/json.ts";
import { memoryLog } from "../../src/storage/memory/log.ts";
import { createRandom } from "../../src/testing/event-log/random.ts";
import type { Random } from "../../src/testing/event-log/random.ts";

/** What the world is like. */
export interface GossipWorldOptions {
  readonly seed?: number;
  /** With more nodes they use gossip. Default 1. */
  readonly gossipAbove?: number;
  /** The percentage of messages, and of answers, that get lost. Default 0. */
  readonly lossPercent?: number;
  /** The percentage of each second in which a node does not run. Default 0. */
  readonly throttledPercent?: number;
  /** Whether all greetings get lost, so that nodes know each other from the table alone. Default: no. */
  readonly losesGreetings?: boolean;
  /** The lease of each node. Default 1,500. */
  readonly deadAfterMs?: number;
  /** How long after a change of its nodes a node is asked whom it judges dead: so among many it is asked less often. Default 0. */
  readonly judgedAfterMs?: number;
}

/**
 * The version of a node: this one, the one before it, which does not pass on what others say about themselves, or one that knows
 * heartbeats alone.
 */
export type Version = "this" | "before" | "heartbeats";

/** A judgement of a node about another one. */
export interface Judgement {
  readonly judge: string;
  readonly judged: string;
  readonly atMs: number;
  /** What the judged node knew of itself; `undefined` if it was dead. */
  readonly own: Liveness | undefined;
}

/** A node of the world: the real heartbeat, with a clock, a network and a database that can fail. */
export interface GossipNode {
  readonly id: string;
  /** How many nodes were started before it. */
  readonly place: number;
  readonly url: string;
  readonly heartbeat: Heartbeat;
  isAlive: boolean;
  /** It does not run before this time. */
  pausedUntilMs: number;
  /** Whether its heartbeats do not reach the database. */
  isCut: boolean;
  /** Whether it asks the database nothing besides. */
  isIdle: boolean;
  /** Its messages reach only the nodes of its own part of the network. */
  part: number;
  /** How many messages it has sent. */
  sent: number;
  /** How many runs say texts on it. */
  speaking: number;
  /** Whether what it sends, or what others send to it, gets lost. */
  isMute: boolean;
  isDeaf: boolean;
}

/** Many nodes in simulated time. */
export class GossipWorld {
  readonly #random: Random;
  readonly #options: Required<Omit<GossipWorldOptions, "seed">>;
  readonly #directory: NodeDirectory;
  readonly #events = new EventQueue();
  readonly #receivers = new Map<string, { node: GossipNode; receive: (message: Json) => Promise<Json> }>();
  readonly nodes: GossipNode[] = [];
  readonly judgements: Judgement[] = [];
  nowMs = 0;
  /** How many heartbeats the database has got. */
  heartbeats = 0;
  /** How many rows it has read for them. */
  rows = 0;
  /** How many messages the nodes have sent, and how many bytes they and their answers have, while these are counted. */
  messages = 0;
  bytes = 0;
  countsBytes = false;
  /** How much longer a message needs, and its answer. */
  delayMs = 0;

  constructor({
    seed = 1,
    gossipAbove = 1,
    lossPercent = 0,
    throttledPercent = 0,
    losesGreetings = false,
    deadAfterMs = LEASE_MS,
    judgedAfterMs = 0,
  }: GossipWorldOptions = {}) {
    this.#random = createRandom(seed);
    this.#options = {
      gossipAbove,
      lossPercent,
      throttledPercent,
      losesGreetings,
      deadAfterMs,
      judgedAfterMs,
    };
    const directory = memoryLog({ now: () => this.nowMs })
      .openNode("any")
      .nodes?.();
    if (directory === undefined) throw new Error("the log has no table of nodes");
    this.#directory = directory;
  }

  /** Starts nodes of a version; resolves when they have joined. */
  async start(count: number, version: Version = "this"): Promise<readonly GossipNode[]> {
    let joined = 0;
    const started = Array.from({ length: count }, () =>
      this.launch(version, () => {
        joined += 1;
      }),
    );
    for (let seconds = 0; joined < count && seconds < 60; seconds += 1) await this.pass(1_000);
    if (joined < count) throw new Error(`only ${joined} of ${count} nodes have joined`);
    return started;
  }

  /** Starts a node. */
  launch(version: Version = "this", joined = (): void => {}): GossipNode {
    const node = this.#create(version);
    void node.heartbeat.join({}).then(joined);
    return node;
  }

  kill(node: GossipNode): void {
    node.isAlive = false;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    await microtasks();
    for (let next = this.#events.take(untilMs); next !== undefined; next = this.#events.take(untilMs)) {
      this.nowMs = next.atMs;
      next.run();
      await microtasks();
    }
    this.nowMs = untilMs;
  }

  /** Lets time pass until something is so. Returns how long it took. */
  async passUntil(isSo: () => boolean, mostMs = 60_000): Promise<number> {
    const startMs = this.nowMs;
    while (!isSo()) {
      if (this.nowMs - startMs > mostMs) throw new Error(`it is not so after ${mostMs} ms`);
      await this.pass(10);
    }
    return this.nowMs - startMs;
  }

  get living(): readonly GossipNode[] {
    return this.nodes.filter(({ isAlive }) => isAlive);
  }

  /** Whether a node is dead to all others that live. */
  isDeadToAll(node: GossipNode): boolean {
    return this.living.every((other) => other === node || other.heartbeat.livenessOf(node.id) === "dead");
  }

  #create(version: Version): GossipNode {
    const id = `node-${this.nodes.length + 1}`;
    const url = `http://${id}`;
    /** When this node has judged another one dead. */
    const dead = new Set<string>();
    const judge = (): void => {
      for (const { node: judged, isAlive } of heartbeat.members) {
        if (isAlive) dead.delete(judged);
        else if (!dead.has(judged)) {
          dead.add(judged);
          const other = this.nodes.find((one) => one.id === judged);
          const own = other?.isAlive === true ? other.heartbeat.livenessOf(judged) : undefined;
          this.judgements.push({ judge: id, judged, atMs: this.nowMs, own });
        }
      }
    };
    let isAsked = false;
    const changed = (): void => {
      const { judgedAfterMs } = this.#options;
      if (judgedAfterMs === 0) judge();
      else if (!isAsked) {
        isAsked = true;
        this.#in(judgedAfterMs, undefined, () => {
          isAsked = false;
          judge();
        });
      }
    };
    let wholeMs = 0;
    const heartbeat: Heartbeat = new Heartbeat({
      node: id,
      wakes: false,
      gossipAbove: this.#options.gossipAbove,
      deadAfterMs: this.#options.deadAfterMs,
      environment: this.#environment(() => node),
      transport: this.#transport(() => node, url, version),
      directory: {
        heartbeat: (self, forgotten) => {
          this.rows += this.nodes.length;
          return this.#store(node, async () => {
            const rows = await this.#directory.heartbeat(rowOf(self, version), forgotten);
            return version === "before" ? rows.map(({ relays: _relays, ...row }) => row) : rows;
          });
        },
        ...(version !== "heartbeats" && {
          renew: (self) => this.#store(node, async () => this.#directory.renew?.(rowOf(self, version))),
        }),
        owedMs: () => {
          if (!node.isCut || node.isIdle) wholeMs = this.nowMs;
          return this.nowMs - wholeMs;
        },
      },
      fault: () => {},
      speaking: () => node.speaking,
      changed,
    });
    const node: GossipNode = {
      id,
      place: this.nodes.length,
      url,
      heartbeat,
      isAlive: true,
      pausedUntilMs: 0,
      isCut: false,
      isIdle: false,
      part: 0,
      sent: 0,
      speaking: 0,
      isMute: false,
      isDeaf: false,
    };
    this.nodes.push(node);
    this.#receivers.set(url, {
      node,
      receive: async (message) => {
        if (isGossipMessage(message))
          return understood(await heartbeat.receive(understood(message, version)), version);
        heartbeat.greeted(version === "before" ? greetingOf(message, version) : message);
        return null;
      },
    });
    return node;
  }

  #environment(node: () => GossipNode): Environment {
    return {
      monotonic: () => this.nowMs,
      now: () => this.nowMs,
      timer: (ms, fire) => {
        let isStopped = false;
        this.#in(ms, node(), () => {
          if (!isStopped) fire();
        });
        return () => {
          isStopped = true;
        };
      },
      random: () => this.#random.below(2 ** 30) / 2 ** 30,
      alarm: () => () => {},
      macrotask: () => {},
      newId: () => "",
      attribute: (_turn, run) => run(),
    };
  }

  /** Does something on a node as soon as it runs, unless it has died. */
  #in(ms: number, node: GossipNode | undefined, run: () => void): void {
    this.#events.add(this.nowMs + ms, () => {
      if (node === undefined) run();
      else if (!node.isAlive) return;
      else {
        const waitMs = this.#waitMs(node);
        if (waitMs === 0) run();
        else this.#in(waitMs, node, run);
      }
    });
  }

  /** How long a node does not run yet. */
  #waitMs(node: GossipNode): number {
    if (node.pausedUntilMs > this.nowMs) return node.pausedUntilMs - this.nowMs;
    const phaseMs = (node.place * 377) % 1_000;
    const atMs = (this.nowMs + phaseMs) % 1_000;
    return Math.max(0, 10 * this.#options.throttledPercent - atMs);
  }

  #transport(sender: () => GossipNode, url: string, version: Version): Transport {
    return {
      url,
      listen: async () => async () => {},
      send: (to, message, signal) =>
        new Promise((resolve, reject) => {
          const from = sender();
          this.messages += 1;
          from.sent += 1;
          signal.addEventListener("abort", () => reject(new Error("aborted")));
          const target = this.#receivers.get(to);
          const isLost = (sender: GossipNode, receiver: GossipNode): boolean =>
            sender.isMute ||
            receiver.isDeaf ||
            sender.part !== receiver.part ||
            this.#chance(this.#options.lossPercent);
          const sent = isGreeting(message) ? greetingOf(message, version) : understood(message, version);
          this.#countBytes(sent);
          if (target === undefined || isLost(from, target.node)) return;
          if (isGreeting(message) && this.#options.losesGreetings) return;
          this.#in(this.delayMs + this.#between(1, 5), target.node, () => {
            void target.receive(sent).then((answer) => {
              this.#countBytes(answer);
              if (isLost(target.node, from)) return;
              const answered = understood(answer, version);
              this.#in(this.delayMs + this.#between(1, 5), from, () => resolve(answered));
            });
          });
        }),
    };
  }

  #countBytes(message: Json): void {
    if (this.countsBytes) this.bytes += Buffer.byteLength(JSON.stringify(message));
  }

  #store<Answer>(node: GossipNode, store: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (node.isCut) {
        this.#in(1_000, node, () => reject(new Error("the database is away")));
        return;
      }
      this.#in(this.#between(1, 10), undefined, () => {
        this.heartbeats += 1;
        void store().then((answer) => this.#in(this.#between(1, 10), node, () => resolve(answer)));
      });
    });
  }

  #between(least: number, most: number): number {
    return least + this.#random.below(most - least + 1);
  }

  #chance(percent: number): boolean {
    return this.#random.below(100) < percent;
  }
}

/** The row of a node of a version. */
function rowOf(self: NodePresence, version: Version): NodePresence {
  if (version === "this") return self;
  const { relays: _relays, ...before } = self;
  if (version === "before") return before;
  const { gossip: _gossip, ...row } = before;
  return row;
}

/** How a node of a version greets. */
function greetingOf(message: Json, version: Version): Json {
  const { hello } = message as unknown as { readonly hello: NodePresence | true };
  if (version === "heartbeats" || hello === true) return { hello: true };
  return { hello: rowOf(hello, version) as unknown as Json };
}

/** A message about the nodes, or its answer, with the rumors that a version has. */
function understood(message: Json, version: Version): Json {
  if (version === "this" || typeof message !== "object" || message === null) return message;
  const { gossip, rumors, ...rest } = message as JsonObject;
  const known = (list: Json | undefined): Json =>
    (list as Json[]).filter((rumor) => (rumor as Json[])[0] !== "said");
  if (gossip === undefined) return rumors === undefined ? message : { ...rest, rumors: known(rumors) };
  const told = gossip as JsonObject;
  return { gossip: { ...told, rumors: known(told["rumors"]) } };
}

/** Lets all microtasks run. */
function microtasks(): Promise<void> {
  return new Promise((resolve) => {
    queueMicrotask(() => process.nextTick(resolve));
  });
}

interface TimedEvent {
  readonly atMs: number;
  readonly run: () => void;
}

/** Events in the order of their times: a binary heap. */
class EventQueue {
  readonly #events: TimedEvent[] = [];

  add(atMs: number, run: () => void): void {
    const events = this.#events;
    let at = events.push({ atMs, run }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#at(parent).atMs <= atMs) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** The next event until a time. */
  take(untilMs: number): TimedEvent | undefined {
    const events = this.#events;
    const [first] = events;
    if (first === undefined || first.atMs > untilMs) return undefined;
    const last = events.pop() as TimedEvent;
    if (events.length === 0) return first;
    events[0] = last;
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < events.length && this.#at(child).atMs < this.#at(least).atMs) least = child;
      if (least === at) return first;
      this.#swap(at, least);
      at = least;
    }
  }

  #at(at: number): TimedEvent {
    return this.#events[at] as TimedEvent;
  }

  #swap(a: number, b: number): void {
    const kept = this.#at(a);
    this.#events[a] = this.#at(b);
    this.#events[b] = kept;
  }
}
