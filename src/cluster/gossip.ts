import type { Environment } from "../ports/environment.ts";
import type { NodePresence } from "../ports/node-directory.ts";
import type { Json } from "../protocol/json.ts";
import { within } from "../shared/clock.ts";
import { sample } from "../shared/sample.ts";
import {
  gossipAnswerToWire,
  gossipMessageToWire,
  parseGossipAnswer,
  parseGossipMessage,
} from "./gossip-messages.ts";
import type { Rumor } from "./gossip-messages.ts";
import { membershipView, peersOf, usesGossip } from "./known-nodes.ts";
import type { KnownNode, Membership } from "./known-nodes.ts";
import type { MembershipFact } from "./membership.ts";
import { RELAYED_MS, rumorAbout } from "./suspicion.ts";
import { sendWithin } from "./transport.ts";
import type { Transport } from "./transport.ts";

/** How long an answer to a ping is waited for before a node is pinged over others, in milliseconds. */
const PING_MS = 250;

/**
 * The longest wait for any answer, in milliseconds. A late answer still shows that a node lives, and its connection stays open. If late pings were ended, the
 * nodes of an overloaded machine would close their connections and open others, and load it more.
 */
const ANSWER_MS = PING_MS + RELAYED_MS;

/**
 * The most rounds that a node skips after one in which it pings. It skips one more for each node that it does not reach, and one less for each that it
 * reaches, because more pings would load an overloaded machine more. This is the local health of Lifeguard, an extension of SWIM.
 */
const MOST_SKIPPED = 9;

/** A node that skips so many rounds tells news with its next pings, and not at once. */
const NEWS_WAITS = 3;

/** How many other nodes ping one that has not answered. */
const RELAYS = 3;

/** How many nodes are told at once of a suspicion, a death or a return; each of them tells as many. */
const TOLD_AT_ONCE = 3;

/** How many nodes are pinged in each round. */
const PINGS = 2;

/** The most suspects that are pinged in each round, beside the next nodes. */
const MOST_SUSPECTS = 3;

/** How long a node passes a rumor on, in milliseconds. It may stand still meanwhile, and what it knows become old. */
const TOLD_MS = 10_000;

/** The most rumors in a message: of who lives, and of what nodes say about themselves, which is longer. */
const MOST_RUMORS = 30;
const MOST_SAID = 10;

/** How much the number that another node tells changes what is known of all: the newest ones count most. */
const NEWEST_SHARE = 1 / 16;

/** How many nodes are put in an order at a time, so that one that joins is soon among them. */
const LAP = 20;

export interface GossipOptions {
  readonly transport: Transport;
  readonly environment: Environment;
  readonly membership: () => Membership;
  /** How many runs say texts on this node. */
  readonly speaking: () => number;
  readonly learn: (fact: MembershipFact) => void;
}

/** Pings other nodes, over others if one does not answer, and passes on what nodes tell about each other. */
export class Gossip {
  readonly #options: GossipOptions;
  /** The nodes that are pinged next. */
  #order: string[] = [];
  readonly #probed = new Set<string>();
  /** How many rounds this node skips after each, and how many of them are left. */
  #skips = 0;
  #skipsLeft = 0;
  /** What this node passes on of who lives, and of what nodes say about themselves. */
  readonly #rumors = new RumorList();
  readonly #said = new RumorList();
  #isTelling = false;
  #speakingElsewhere = 0;
  #isStopped = false;

  constructor(options: GossipOptions) {
    this.#options = options;
  }

  /** How many runs say texts on another node, on average. */
  get speakingElsewhere(): number {
    return this.#speakingElsewhere;
  }

  /** Pings the next nodes, and those that have not answered. */
  round(): void {
    if (this.#skipsLeft > 0) {
      this.#skipsLeft -= 1;
      return;
    }
    this.#skipsLeft = this.#skips;
    const suspects = this.#membership.nodes.doubted.filter(
      (known) => known.suspicion?.isOwn === true && this.#isPeer(known),
    );
    const next = Array.from({ length: PINGS }, () => this.#next()).filter((peer) => peer !== undefined);
    for (const peer of new Set([...next, ...this.#some(suspects, MOST_SUSPECTS)]))
      void this.#probe(peer.presence);
  }

  /** Answers a message of another node. */
  async receive(data: Json): Promise<Json> {
    const { from, to, incarnation, rumors, of, speaking } = parseGossipMessage(data);
    const { self } = this.#membership;
    const { learn } = this.#options;
    this.#hear(speaking);
    if (to === self.node)
      learn({ type: "told", rumors: [{ state: "alive", node: from, incarnation }, ...rumors] });
    // Its sender does not reach the table of nodes, and answers no pings either.
    if (rumors.some(({ state, node }) => state === "suspect" && node === from))
      learn({
        type: "probed",
        node: from,
        sentMs: this.#options.environment.monotonic(),
        isReached: false,
      });
    const acked =
      to === self.node &&
      of !== undefined &&
      (await within(this.#options.environment, RELAYED_MS, this.#ping(of))) === true;
    const membership = this.#membership;
    const isReached = membershipView(membership, this.#options.environment.monotonic()) !== "none";
    return gossipAnswerToWire({
      taken: to === self.node && isReached && !this.#isStopped,
      acked,
      incarnation: membership.incarnation,
      speaking: this.#options.speaking(),
      rumors: this.#rumorsFor(from),
    });
  }

  /** Another node has told how many runs say texts on it. */
  #hear(speaking: number): void {
    this.#speakingElsewhere += (speaking - this.#speakingElsewhere) * NEWEST_SHARE;
  }

  /** Passes a rumor on; at once, unless a node only lives or has joined. */
  tell(rumor: Rumor): void {
    const { nodes } = this.#membership;
    const sinceMs = this.#options.environment.monotonic();
    const left = 3 * Math.ceil(Math.log2(nodes.size + 1));
    this.#listOf(rumor).add({ rumor, sinceMs, left });
    const isQuiet = rumor.state === "said" ? rumor.presence.state === "active" : rumor.state === "alive";
    if (!isQuiet) this.#tellSome();
  }

  stop(): void {
    this.#isStopped = true;
  }

  get #membership(): Membership {
    return this.#options.membership();
  }

  /** The next node of a lap over some of them at random. */
  #next(): KnownNode | undefined {
    for (;;) {
      if (this.#order.length === 0)
        this.#order = this.#some(peersOf(this.#membership), LAP).map(({ presence }) => presence.node);
      const node = this.#order.pop();
      const known = node === undefined ? undefined : this.#membership.nodes.get(node);
      if (node === undefined || (known !== undefined && this.#isPeer(known))) return known;
    }
  }

  #isPeer({ presence: { node, gossip }, isDead }: KnownNode): boolean {
    return node !== this.#membership.self.node && !isDead && gossip !== undefined;
  }

  async #probe(peer: NodePresence): Promise<void> {
    if (this.#probed.has(peer.node)) return;
    this.#probed.add(peer.node);
    const { environment } = this.#options;
    let sentMs = environment.monotonic();
    const first = this.#ping(peer);
    let isReached = await within(environment, PING_MS, first);
    if (isReached !== true) {
      sentMs = environment.monotonic();
      isReached = await within(environment, RELAYED_MS, this.#pingOverOthers(peer, first));
    }
    this.#probed.delete(peer.node);
    // A node that was doubted before says nothing about the others.
    if (this.#membership.nodes.get(peer.node)?.suspicion === undefined)
      this.#skips = Math.min(Math.max(this.#skips + (isReached === true ? -1 : 1), 0), MOST_SKIPPED);
    if (!this.#isStopped)
      this.#options.learn({ type: "probed", node: peer.node, sentMs, isReached: isReached === true });
  }

  /** Pings a node again, and over others; resolves with its first answer, which may be that to the first ping. */
  async #pingOverOthers(peer: NodePresence, first: Promise<boolean>): Promise<boolean> {
    const others = this.#some(peersOf(this.#membership), RELAYS + 1)
      .filter(({ presence }) => presence.node !== peer.node)
      .slice(0, RELAYS);
    const ways = [first, this.#ping(peer), ...others.map(({ presence }) => this.#ping(presence, peer))];
    return Promise.any(
      ways.map(async (way) => {
        if (!(await way)) throw new Error("not answered");
      }),
    ).then(
      () => true,
      () => false,
    );
  }

  /** Pings a node, or lets it ping another one; whether that one has answered in time. */
  async #ping(peer: Pick<NodePresence, "node" | "url">, of?: NodePresence): Promise<boolean> {
    const { transport, environment, learn } = this.#options;
    const { self, incarnation } = this.#membership;
    const sentMs = environment.monotonic();
    const rumors = this.#rumorsFor(peer.node);
    const message = {
      from: self.node,
      to: peer.node,
      incarnation,
      speaking: this.#options.speaking(),
      rumors,
      ...(of !== undefined && { of: { node: of.node, url: of.url } }),
    };
    try {
      const limit = { environment, ms: ANSWER_MS };
      const answer = parseGossipAnswer(
        await sendWithin(limit, transport, peer.url, gossipMessageToWire(message)),
      );
      if (this.#isStopped) return false;
      this.#count(rumors);
      this.#hear(answer.speaking);
      learn({ type: "told", rumors: answer.rumors });
      if (!answer.taken) return false;
      learn({ type: "acknowledged", node: peer.node, incarnation: answer.incarnation, sentMs });
      return of === undefined || answer.acked;
    } catch {
      return false;
    }
  }

  /** Tells some nodes at once what is new; what comes in the same turn of the event loop goes together. */
  #tellSome(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    void Promise.resolve().then(() => {
      this.#isTelling = false;
      if (this.#isStopped || this.#skips >= NEWS_WAITS || !usesGossip(this.#membership)) return;
      for (const { presence } of this.#some(peersOf(this.#membership), TOLD_AT_ONCE))
        void this.#ping(presence);
    });
  }

  /** What a node is told: what is said about itself first. */
  #rumorsFor(node: string): readonly Rumor[] {
    const now = this.#options.environment.monotonic();
    const first = rumorAbout(this.#membership, node, now);
    const rumors = this.#rumors.next(first === undefined ? MOST_RUMORS : MOST_RUMORS - 1, node, now);
    return [...(first === undefined ? [] : [first]), ...rumors, ...this.#said.next(MOST_SAID, node, now)];
  }

  /** A ping has told these rumors, and was answered. An answer may not arrive, and a node that stands still answers nothing. */
  #count(rumors: readonly Rumor[]): void {
    for (const rumor of rumors) this.#listOf(rumor).count(rumor);
  }

  #listOf({ state }: Rumor): RumorList {
    return state === "said" ? this.#said : this.#rumors;
  }

  #some<Item>(items: readonly Item[], count: number): Item[] {
    return sample(items, count, () => this.#options.environment.random());
  }
}

/** A rumor that is passed on: since when, and with how many more pings that are answered. */
interface PassedOn {
  readonly rumor: Rumor;
  readonly sinceMs: number;
  left: number;
}

/** Rumors that are passed on, the newest about each node, by turns if they are too many for a message. */
class RumorList {
  readonly #rumors = new Map<string, PassedOn>();

  add(passedOn: PassedOn): void {
    const { node } = passedOn.rumor;
    this.#rumors.delete(node);
    this.#rumors.set(node, passedOn);
  }

  /** The rumors of the next message, but none about its receiver. */
  next(most: number, receiver: string, now: number): readonly Rumor[] {
    const next: PassedOn[] = [];
    for (const [node, passedOn] of this.#rumors) {
      if (next.length >= most) break;
      if (now - passedOn.sinceMs > TOLD_MS) this.#rumors.delete(node);
      else if (node !== receiver) next.push(passedOn);
    }
    if (next.length < this.#rumors.size) for (const passedOn of next) this.add(passedOn);
    return next.map(({ rumor }) => rumor);
  }

  /** A rumor was told. */
  count(rumor: Rumor): void {
    const passedOn = this.#rumors.get(rumor.node);
    if (passedOn?.rumor !== rumor) return;
    passedOn.left -= 1;
    if (passedOn.left === 0) this.#rumors.delete(rumor.node);
  }
}
