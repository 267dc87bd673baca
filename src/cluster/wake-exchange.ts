import type { Environment } from "../ports/environment.ts";
import type { LogWakes, Member, RunWake, WakeCarrier } from "../ports/router.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import { backoffMs } from "../shared/backoff.ts";
import type { MonotonicClock } from "../shared/clock.ts";
import { sendWithin } from "./transport.ts";
import type { Transport } from "./transport.ts";
import { parseWakeAnswer, parseWakeMessage, wakeAnswerToWire, wakeMessageToWire } from "./wake-messages.ts";
import type { Follows, WakeAnswer, WakeMessage } from "./wake-messages.ts";

/** How long a change of what is followed here gathers with others, in milliseconds: most readers of a finished run stay no longer. */
const GATHER_MS = 5;

/** The longest wait for an answer, in milliseconds. Then the log tells the changes. */
const ANSWER_MS = 1_000;

/** The pause before a node is told again what is followed here. */
const RETRY = { firstMs: 100, mostMs: 5_000 };

/** How many nodes that have joined are told at once what is followed here, and the time until as many more are, in milliseconds. */
const TOLD_AT_ONCE = 30;
const NEXT_TOLD_MS = 300;

/** The most runs that are told by name. Where more are followed, each change is told. */
const MOST_NAMED = 5_000;

/** The most changed runs that wait for a node to answer. With more the log tells them. */
const MOST_WAITING = 20_000;

/** After this time a dead node needs no wakes, in milliseconds: one that only stood still looks into the log itself. */
const GONE_MS = 30_000;

export interface WakeExchangeOptions {
  readonly wakes: LogWakes;
  readonly transport: Transport;
  /** The id of this node. */
  readonly node: string;
  readonly environment: Environment;
  /** All nodes as this one knows them. */
  readonly members: () => readonly Member[];
  /** Reads the table of nodes soon. */
  readonly look: () => void;
}

/** Another node. What it follows and what it knows is forgotten when it is dead. */
interface Peer {
  readonly node: string;
  readonly url: string;
  /** The runs that it follows; `undefined` while that is not known. */
  follows: Set<RunId> | "all" | undefined;
  /** The number of its newest message. */
  heard: number | undefined;
  /** The number of the newest message that it has taken; `undefined` while it has to be told everything. */
  told: number | undefined;
  /** Whether it was told that all runs are followed here. */
  toldAll: boolean;
  /** Whether it has asked for everything since the newest message was made. */
  isAsking: boolean;
  /** The runs that it is to be told, and whether they are followed. */
  readonly untold: Map<RunId, boolean>;
  isTelling: boolean;
  failures: number;
  stopTimer: () => void;
  /** The changed runs that it is to be told. */
  waiting: Map<RunId, RunWake>;
  isWaking: boolean;
  /** Ends the messages to it when it is dead. */
  readonly dead: AbortController;
}

/**
 * Carries the wakes of a log between nodes. Each node tells every other one which runs are followed on it, because any of them can
 * take over a run; so a new owner knows the followers already. Each change then goes to the nodes that follow its run. A message
 * that fails is told over the log.
 */
export class WakeExchange implements WakeCarrier {
  readonly #options: WakeExchangeOptions;
  readonly #peers = new Map<string, Peer>();
  /** The runs that are followed here; the others know of them or are going to. */
  readonly #followed = new Set<RunId>();
  /** Whether they are too many to be named. */
  #isMany = false;
  /** How many follow all runs. */
  #watchers = 0;
  /** The nodes that follow a run, and those that follow all. */
  readonly #followers = new Map<RunId, Set<Peer>>();
  readonly #ofAll = new Set<Peer>();
  readonly #recent: RecentChanges;
  /** How many peers are there whose followed runs are not known. */
  #unknown = 0;
  #number = 0;
  #stopGathering: (() => void) | undefined;
  #stopCarrying = (): void => {};
  #isStopped = false;

  constructor(options: WakeExchangeOptions) {
    this.#options = options;
    this.#recent = new RecentChanges(options.environment);
  }

  start(): void {
    this.#stopCarrying = this.#options.wakes.carry(this);
    this.update();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopCarrying();
    this.#stopGathering?.();
    for (const peer of Array.from(this.#peers.values())) this.#remove(peer);
  }

  /** Nodes have joined, died or left. */
  update(): void {
    if (this.#isStopped) return;
    const living = new Map(
      this.#options
        .members()
        .filter(
          ({ isSelf, isAlive, state, wakes }) => !isSelf && isAlive && state !== "joining" && wakes === true,
        )
        .map((member) => [member.node, member]),
    );
    let hasDied = false;
    for (const peer of Array.from(this.#peers.values())) {
      if (living.has(peer.node)) continue;
      this.#remove(peer);
      hasDied = true;
    }
    if (hasDied) this.#options.wakes.look();
    const joined = [...living.values()].filter(({ node }) => !this.#peers.has(node));
    for (const [place, { node, url }] of joined.entries()) {
      const peer = newPeer(node, url);
      this.#peers.set(node, peer);
      this.#unknown += 1;
      if (place < TOLD_AT_ONCE) void this.#tellFollows(peer);
      // Most of so many have told this node until then, and were told with that, because they hear of it one after the other.
      else
        peer.stopTimer = this.#options.environment.timer(
          Math.floor(place / TOLD_AT_ONCE) * NEXT_TOLD_MS,
          () => void this.#tellFollows(peer),
        );
    }
  }

  /** Answers a message of another node. */
  receive(data: Json): Json {
    const message = parseWakeMessage(data);
    return wakeAnswerToWire(this.#take(message));
  }

  get reachesAll(): boolean {
    return this.#unknown === 0;
  }

  standingOf(node: string): ReturnType<WakeCarrier["standingOf"]> {
    if (this.#peers.has(node)) return "carried";
    const member = this.#options.members().find((known) => known.node === node);
    if (member === undefined) return undefined;
    const isGone = member.state === "left" || (!member.isAlive && member.ageMs > GONE_MS);
    return isGone ? "gone" : "listens";
  }

  follow(runId: RunId | undefined): void {
    if (runId === undefined) {
      this.#watchers += 1;
    } else {
      if (this.#followed.has(runId)) return;
      this.#followed.add(runId);
      this.#isMany ||= this.#followed.size > MOST_NAMED;
      this.#change(runId, true);
    }
    this.#gather();
  }

  unfollow(runId: RunId | undefined): void {
    if (runId === undefined) {
      this.#watchers -= 1;
    } else {
      if (!this.#followed.delete(runId)) return;
      this.#isMany &&= this.#followed.size > MOST_NAMED / 2;
      this.#change(runId, false);
    }
    this.#gather();
  }

  tell(changes: readonly RunWake[]): void {
    for (const change of changes) {
      this.#recent.add(change.runId);
      for (const peer of this.#followers.get(change.runId) ?? []) this.#wake(peer, change);
      for (const peer of this.#ofAll) this.#wake(peer, change);
    }
  }

  disowned(node: string, number: number): void {
    const peer = this.#peers.get(node);
    if (peer === undefined) return;
    peer.heard = Math.max(peer.heard ?? 0, number);
    this.#distrust(peer);
  }

  get #followsAll(): boolean {
    return this.#watchers > 0 || this.#isMany;
  }

  #change(runId: RunId, isFollowed: boolean): void {
    for (const { untold, told, isTelling } of this.#peers.values()) {
      // The next message has everything.
      if (told === undefined && !isTelling) continue;
      // One that was not told yet cancels the other.
      if (untold.get(runId) === !isFollowed) untold.delete(runId);
      else untold.set(runId, isFollowed);
    }
  }

  #gather(): void {
    this.#stopGathering ??= this.#options.environment.timer(GATHER_MS, () => {
      this.#stopGathering = undefined;
      // One that has to be told everything has its turn later.
      for (const peer of this.#peers.values()) if (peer.told !== undefined) void this.#tellFollows(peer);
    });
  }

  /** Tells a node what is followed here, until it knows everything; one message at a time. */
  async #tellFollows(peer: Peer): Promise<void> {
    if (peer.isTelling || peer.dead.signal.aborted) return;
    peer.isTelling = true;
    peer.stopTimer();
    while (!peer.dead.signal.aborted && !this.#isDone(peer)) {
      const message = this.#toFollows(peer);
      peer.untold.clear();
      peer.isAsking = false;
      const answer = await this.#send(peer, message);
      if (peer.dead.signal.aborted) return;
      if (answer?.taken === true) {
        peer.failures = 0;
        peer.told = message.number;
        peer.toldAll = message.all;
        if (answer.changed.length > 0)
          this.#options.wakes.heard(answer.changed.map((runId) => ({ runId, epoch: 0 })));
        // What it follows comes in a message of its own.
        if (this.#isToldAll(peer)) break;
        continue;
      }
      // It may know less than is followed here, or learn it from a message that is late, and then tells nothing of the rest.
      this.#options.wakes.disown(peer.node, message.number);
      peer.told = undefined;
      if (answer !== undefined) this.#options.look();
      peer.stopTimer = this.#options.environment.timer(backoffMs(RETRY, peer.failures), () => {
        void this.#tellFollows(peer);
      });
      peer.failures += 1;
      break;
    }
    peer.isTelling = false;
  }

  #isDone(peer: Peer): boolean {
    return peer.follows !== undefined && this.#isToldAll(peer);
  }

  #isToldAll({ told, toldAll, isAsking, untold }: Peer): boolean {
    const all = this.#followsAll;
    return told !== undefined && !isAsking && toldAll === all && (all || untold.size === 0);
  }

  #toFollows({ node, told, toldAll, isAsking, untold, follows }: Peer): Follows {
    this.#number += 1;
    const all = this.#followsAll;
    const isWhole = told === undefined || isAsking || all || toldAll;
    const ids = (isFollowed: boolean): readonly RunId[] =>
      [...untold].filter(([, value]) => value === isFollowed).map(([runId]) => runId);
    return {
      type: "follows",
      from: this.#options.node,
      to: node,
      number: this.#number,
      after: isWhole ? undefined : told,
      all,
      add: all ? [] : isWhole ? [...this.#followed] : ids(true),
      drop: isWhole ? [] : ids(false),
      asks: follows === undefined,
    };
  }

  #take(message: WakeMessage): WakeAnswer {
    if (message.to !== this.#options.node) return NOT_TAKEN;
    if (message.type === "changes") {
      this.#options.wakes.heard(message.changes);
      return TAKEN;
    }
    const peer = this.#peers.get(message.from);
    if (peer === undefined) {
      this.#options.look();
      return NOT_TAKEN;
    }
    // One that was repeated or overtaken.
    if (peer.heard !== undefined && message.number <= peer.heard) return NOT_TAKEN;
    if (message.after !== undefined && (peer.follows === undefined || message.after !== peer.heard))
      return NOT_TAKEN;
    peer.heard = message.number;
    const isNew = message.all ? peer.follows !== "all" : message.add.length > 0;
    if (message.all) this.#setFollows(peer, "all");
    else if (message.after === undefined) this.#setFollows(peer, new Set(message.add));
    else this.#changeFollows(peer, message);
    if (message.asks) {
      peer.isAsking = true;
      void this.#tellFollows(peer);
    }
    if (!isNew) return TAKEN;
    const { all, add } = message;
    return {
      taken: true,
      changed: all ? this.#recent.all : add.filter((runId) => this.#recent.has(runId)),
    };
  }

  #setFollows(peer: Peer, follows: Peer["follows"]): void {
    if (peer.follows instanceof Set) for (const runId of peer.follows) this.#forget(peer, runId);
    this.#ofAll.delete(peer);
    this.#unknown += Number(follows === undefined) - Number(peer.follows === undefined);
    peer.follows = follows;
    if (follows === "all") this.#ofAll.add(peer);
    else for (const runId of follows ?? []) this.#remember(peer, runId);
  }

  #changeFollows(peer: Peer, { add, drop }: Follows): void {
    if (!(peer.follows instanceof Set)) return;
    for (const runId of add) {
      peer.follows.add(runId);
      this.#remember(peer, runId);
    }
    for (const runId of drop) {
      peer.follows.delete(runId);
      this.#forget(peer, runId);
    }
  }

  #remember(peer: Peer, runId: RunId): void {
    const followers = this.#followers.get(runId);
    if (followers === undefined) this.#followers.set(runId, new Set([peer]));
    else followers.add(peer);
  }

  #forget(peer: Peer, runId: RunId): void {
    const followers = this.#followers.get(runId);
    if (followers?.delete(peer) === true && followers.size === 0) this.#followers.delete(runId);
  }

  #wake(peer: Peer, change: RunWake): void {
    peer.waiting.set(change.runId, change);
    if (!peer.isWaking) void this.#tellChanges(peer);
    else if (peer.waiting.size > MOST_WAITING) this.#tellAllOf(peer);
  }

  /** Tells a node what has changed; what changes until it answers goes into the next message. */
  async #tellChanges(peer: Peer): Promise<void> {
    peer.isWaking = true;
    // The changes of one turn of the event loop go together.
    await Promise.resolve();
    while (peer.waiting.size > 0 && !peer.dead.signal.aborted) {
      const changes = [...peer.waiting.values()];
      peer.waiting = new Map();
      const { node: from } = this.#options;
      const answer = await this.#send(peer, { type: "changes", from, to: peer.node, changes });
      if (answer?.taken === true) continue;
      for (const change of changes)
        if (!peer.waiting.has(change.runId)) peer.waiting.set(change.runId, change);
      this.#tellAllOf(peer);
    }
    peer.isWaking = false;
  }

  /** A node does not answer, or not in time: the log tells what it is to know, until it says again what it follows. */
  #tellAllOf(peer: Peer): void {
    this.#options.wakes.tellAll([...peer.waiting.values()]);
    peer.waiting = new Map();
    if (!peer.dead.signal.aborted) this.#distrust(peer);
  }

  /** What a node follows is not known any more. It may follow runs already that this node has just changed without telling it. */
  #distrust(peer: Peer): void {
    if (peer.follows === undefined) return;
    this.#setFollows(peer, undefined);
    this.#options.wakes.tellAll(this.#recent.all.map((runId) => ({ runId, epoch: 0 })));
    void this.#tellFollows(peer);
  }

  /** Sends a message; `undefined` without an answer in time. */
  async #send(peer: Peer, message: WakeMessage): Promise<WakeAnswer | undefined> {
    const { transport, environment } = this.#options;
    const limit = { environment, ms: ANSWER_MS, ended: peer.dead.signal };
    try {
      return parseWakeAnswer(await sendWithin(limit, transport, peer.url, wakeMessageToWire(message)));
    } catch {
      return undefined;
    }
  }

  #remove(peer: Peer): void {
    this.#peers.delete(peer.node);
    this.#setFollows(peer, undefined);
    this.#unknown -= 1;
    peer.stopTimer();
    peer.dead.abort();
    if (peer.waiting.size > 0) this.#tellAllOf(peer);
  }
}

const TAKEN: WakeAnswer = { taken: true, changed: [] };
const NOT_TAKEN: WakeAnswer = { taken: false, changed: [] };

function newPeer(node: string, url: string): Peer {
  return {
    node,
    url,
    follows: undefined,
    heard: undefined,
    told: undefined,
    toldAll: false,
    isAsking: false,
    untold: new Map(),
    isTelling: false,
    failures: 0,
    stopTimer: () => {},
    waiting: new Map(),
    isWaking: false,
    dead: new AbortController(),
  };
}

/** How long a change is kept, in milliseconds: far longer than a reader waits until other nodes know of it. */
const RECENT_MS = 10_000;

/** The most runs that are kept. */
const MOST_RECENT = 20_000;

/** The runs that this node has changed lately. A reader elsewhere may have read them just before the change. */
class RecentChanges {
  readonly #clock: Pick<MonotonicClock, "monotonic">;
  /** When each was changed, the oldest first. */
  readonly #changes = new Map<RunId, number>();
  /** Changes before this time are not known. */
  #knownSinceMs = -Infinity;

  constructor(clock: Pick<MonotonicClock, "monotonic">) {
    this.#clock = clock;
  }

  add(runId: RunId): void {
    const now = this.#clock.monotonic();
    this.#changes.delete(runId);
    this.#changes.set(runId, now);
    for (const [oldest, atMs] of this.#changes) {
      if (now - atMs <= RECENT_MS && this.#changes.size <= MOST_RECENT) return;
      this.#changes.delete(oldest);
      this.#knownSinceMs = atMs;
    }
  }

  /** Whether a run was changed lately, or may have been. */
  has(runId: RunId): boolean {
    const sinceMs = this.#clock.monotonic() - RECENT_MS;
    return (this.#changes.get(runId) ?? this.#knownSinceMs) >= sinceMs;
  }

  get all(): readonly RunId[] {
    return [...this.#changes.keys()];
  }
}
