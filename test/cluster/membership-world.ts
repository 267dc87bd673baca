import { HEARTBEAT_MS } from "../../src/cluster/known-nodes.ts";
import type { Membership, MembershipAction } from "../../src/cluster/known-nodes.ts";
import { initialMembership, transition } from "../../src/cluster/membership.ts";
import { forgettable } from "../../src/cluster/node-rows.ts";
import type { ForgottenRow, NodeRow } from "../../src/ports/node-directory.ts";

/** One heartbeat of a node, in milliseconds. */
export interface Beat {
  /** The pause of the process before it, beside the usual one. */
  readonly pauseMs: number;
  /** How long it takes to the engine, and its answer back. */
  readonly thereMs: number;
  readonly backMs: number;
  /** `lost`: the engine stores it, and the answer does not arrive. `failed`: neither. */
  readonly outcome: "answered" | "lost" | "failed";
}

/** A step of the engine's clock. */
export interface Step {
  readonly atMs: number;
  readonly byMs: number;
}

/** A node with what only the world knows about it. */
export interface WorldNode {
  readonly id: string;
  membership: Membership;
  /** When its heartbeats were stored. */
  readonly storedMs: number[];
  /** When the engine made the newest answer that the node has got, and the first one. */
  answeredMs: number;
  firstMs: number;
}

/** What a test checks after each event: who has just learnt something, and what follows from it. */
export type Check = (
  now: number,
  changed?: { readonly node: WorldNode; readonly actions: readonly MembershipAction[] },
) => void;

/**
 * Several nodes and an engine in true time, which none of them can read: the engine tells ages by its own clock, and each
 * node has a monotonic clock of its own.
 */
export class MembershipWorld {
  readonly nodes: readonly WorldNode[];
  readonly #steps: readonly Step[];
  readonly #rows = new Map<string, { readonly name: string; readonly atMs: number }>();
  readonly #events: { readonly atMs: number; readonly run: () => void }[] = [];
  #now = 0;
  #count = 0;

  constructor(beats: readonly (readonly Beat[])[], steps: readonly Step[] = []) {
    this.#steps = steps;
    this.nodes = beats.map((_, at) => ({
      id: `node-${at}`,
      membership: initialMembership({ node: `node-${at}`, url: "", state: "active", agents: {} }),
      storedMs: [],
      answeredMs: -Infinity,
      firstMs: Infinity,
    }));
  }

  /** Plays the heartbeats of all nodes; a node dies after its last one. Checks also just before each event. */
  play(beats: readonly (readonly Beat[])[], check: Check): void {
    for (const [at, node] of this.nodes.entries()) this.#send(node, beats[at] ?? [], check);
    for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
      check(Math.max(this.#now, next.atMs - 1));
      this.#now = next.atMs;
      next.run();
    }
  }

  /** The clock of a node. */
  clockOf({ id }: WorldNode, now: number): number {
    return now + 1_000_000 * (1 + this.nodes.findIndex((node) => node.id === id));
  }

  #send(node: WorldNode, [beat, ...rest]: readonly Beat[], check: Check): void {
    if (beat === undefined) return;
    const sentAt = this.#now + HEARTBEAT_MS + beat.pauseMs;
    const storedAt = sentAt + beat.thereMs;
    let rows: readonly NodeRow[] | undefined;
    const forgotten = forgettable(node.membership, this.clockOf(node, sentAt));
    this.#at(storedAt, () => {
      if (beat.outcome === "failed") return;
      node.storedMs.push(storedAt);
      rows = this.#store(node.id, forgotten);
    });
    this.#at(storedAt + beat.backMs, () => {
      const fact =
        beat.outcome !== "answered" || rows === undefined
          ? ({ type: "failed" } as const)
          : ({ type: "answered", rows, sentMs: this.clockOf(node, sentAt) } as const);
      const { membership, actions } = transition(node.membership, fact, this.clockOf(node, this.#now));
      node.membership = membership;
      if (fact.type === "answered") {
        node.answeredMs = storedAt;
        node.firstMs = Math.min(node.firstMs, storedAt);
      }
      check(this.#now, { node, actions });
      this.#send(node, rest, check);
    });
  }

  #store(id: string, forgotten: readonly ForgottenRow[]): readonly NodeRow[] {
    const engineMs = this.#engineMs;
    this.#count += 1;
    this.#rows.set(id, { name: String(this.#count), atMs: engineMs });
    for (const { node, heartbeat } of forgotten)
      if (this.#rows.get(node)?.name === heartbeat) this.#rows.delete(node);
    return [...this.#rows].map(([node, { name, atMs }]) => ({
      node,
      url: "",
      state: "active",
      agents: {},
      heartbeat: name,
      ageMs: Math.max(0, engineMs - atMs),
    }));
  }

  get #engineMs(): number {
    return this.#steps
      .filter(({ atMs }) => atMs <= this.#now)
      .reduce((sum, { byMs }) => sum + byMs, this.#now);
  }

  #at(atMs: number, run: () => void): void {
    const after = this.#events.findIndex((event) => event.atMs > atMs);
    this.#events.splice(after === -1 ? this.#events.length : after, 0, { atMs, run });
  }
}
