import { randomUUID } from "node:crypto";
import { isObject } from "../protocol/json.ts";
import type { Topic } from "../runtime/agent/topic.ts";
import type { Runtime } from "../runtime/api.ts";

/**
 * The right to export, and how far the export is: the newest publication of a topic. So it is in the log, and every node sees the
 * same. Two nodes that take the right at once see who was later; what both have exported by then is equal.
 */
export class TraceLease {
  readonly #runtime: Runtime;
  readonly #topic: Topic;
  readonly #name: string;
  readonly #id = randomUUID();
  #held: Held = { holder: "", untilMs: 0, exportedMs: undefined };

  constructor(runtime: Runtime, { topic, name }: { readonly topic: Topic; readonly name: string }) {
    this.#runtime = runtime;
    this.#topic = topic;
    this.#name = name;
  }

  /** Everything up to this time is exported; `undefined` if nothing was. */
  get exportedMs(): number | undefined {
    return this.#held.exportedMs;
  }

  /** Reads what the log says. */
  async read(): Promise<void> {
    const newest = await this.#runtime.topics.newest(this.#topic.name);
    const body = newest.find(({ name }) => name === this.#name)?.body;
    if (!isObject(body)) return;
    const { holder, until, exported } = body;
    this.#held = {
      holder: typeof holder === "string" ? holder : "",
      untilMs: typeof until === "string" ? Date.parse(until) : 0,
      exportedMs: typeof exported === "string" ? Date.parse(exported) : undefined,
    };
  }

  /** Takes the right, or keeps it. Returns how long another node has it at least, in milliseconds. */
  async take(): Promise<number> {
    await this.read();
    if (this.#isMine && this.#held.untilMs - Date.now() > LEASE_MS / 2) return 0;
    if (!this.#isMine && this.#isShared) {
      const othersMs = this.#held.untilMs - Date.now();
      if (othersMs > 0) return Math.min(othersMs, LEASE_MS);
    }
    await this.#publish(this.#held.exportedMs, Date.now() + LEASE_MS);
    await this.read();
    return this.#isMine ? 0 : LEASE_MS;
  }

  /** Remembers that everything up to a time is exported; at most every few seconds, because what follows is only exported again. */
  async advance(exportedMs: number): Promise<void> {
    const before = this.#held.exportedMs ?? -Infinity;
    if (exportedMs - before < STEP_MS) return;
    await this.#publish(exportedMs, Date.now() + LEASE_MS);
    await this.read();
  }

  /** Leaves the right to others. */
  async release(): Promise<void> {
    if (this.#isMine) await this.#publish(this.#held.exportedMs, Date.now());
  }

  get #isMine(): boolean {
    return this.#held.holder === this.#id;
  }

  /** Whether there may be other nodes. The holder in a log of one process is an earlier process. */
  get #isShared(): boolean {
    return this.#runtime.health().figures !== undefined;
  }

  async #publish(exportedMs: number | undefined, untilMs: number): Promise<void> {
    const body = {
      holder: this.#id,
      until: new Date(untilMs).toISOString(),
      ...(exportedMs !== undefined && { exported: new Date(exportedMs).toISOString() }),
    };
    const receipt = await this.#runtime.publish(this.#topic, this.#name, body);
    await this.#runtime.acknowledgement(receipt, { until: "acknowledged", timeoutMs: LEASE_MS });
  }
}

interface Held {
  readonly holder: string;
  readonly untilMs: number;
  readonly exportedMs: number | undefined;
}

/** A node that is away keeps the right for so long. */
const LEASE_MS = 30_000;

/** So much is exported before it is remembered. */
const STEP_MS = 10_000;
