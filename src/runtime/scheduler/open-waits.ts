import { AgentError } from "../../errors.ts";
import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { isUnder } from "../../protocol/ids.ts";
import type { TurnJournal, Wait } from "../replay/turn-journal.ts";
import type { LiveWait } from "./call-tree.ts";
import { checkWith } from "../agent/definition/schema.ts";
import { LazyMap, LazySet } from "../lazy.ts";

/** The open waits of a turn: live ones, and those of the log that the replayed code has not reached yet. */
export class OpenWaits {
  /** The client-chosen ids of the answers. */
  readonly resumeIds: LazySet<string>;
  /** The id of the newest ResumeWithInput or WaitExpired, 0 for none. */
  lastResume: number;
  readonly #live = new LazyMap<CallId, LiveWait>();
  readonly #unreplayed = new LazyMap<CallId, Wait>();
  readonly #awaited = new LazyMap<CallId, PromiseWithResolvers<LiveWait | undefined>>();

  constructor({ open, resumeIds, lastResume }: TurnJournal) {
    for (const { callId, wait } of open) if (wait) this.#unreplayed.set(callId, wait);
    this.resumeIds = new LazySet(resumeIds);
    this.lastResume = lastResume;
  }

  get size(): number {
    return this.#live.size + this.#unreplayed.size;
  }

  /** Whether there is a live one. */
  get anyLive(): boolean {
    return this.#live.size > 0;
  }

  /** Whether the code has not reached all of them. */
  get anyUnreplayed(): boolean {
    return this.#unreplayed.size > 0;
  }

  /** All that can be answered, oldest first. */
  get all(): readonly Wait[] {
    return [...this.#unreplayed.values(), ...this.#live.values()].sort((a, b) => a.waitId - b.waitId);
  }

  /** The wait of a call, if it is live. */
  get(callId: CallId): LiveWait | undefined {
    return this.#live.get(callId);
  }

  /** Resolves with the wait of a call when it is live, or with `undefined` if the turn ends before. */
  when(callId: CallId): Promise<LiveWait | undefined> {
    const live = this.#live.get(callId);
    if (live || !this.#unreplayed.has(callId)) return Promise.resolve(live);
    const awaited = this.#awaited.get(callId) ?? Promise.withResolvers<LiveWait | undefined>();
    this.#awaited.set(callId, awaited);
    return awaited.promise;
  }

  /** A wait is live. */
  add(wait: LiveWait): void {
    const { callId } = wait;
    this.#live.set(callId, wait);
    this.#unreplayed.delete(callId);
    this.#awaited.get(callId)?.resolve(wait);
    this.#awaited.delete(callId);
  }

  /** A wait is closed. */
  remove(callId: CallId): void {
    this.#live.delete(callId);
  }

  /** Drops the waits under a call that the code will never reach, and returns them. */
  dropUnreplayed(above: CallId): readonly Wait[] {
    const dropped: Wait[] = [];
    for (const [callId, wait] of this.#unreplayed) {
      if (!isUnder(callId, above)) continue;
      dropped.push(wait);
      this.#unreplayed.delete(callId);
      this.#awaited.get(callId)?.resolve(undefined);
      this.#awaited.delete(callId);
    }
    return dropped;
  }

  /** The turn has ended or is passivated. */
  clear(): void {
    this.#live.clear();
    this.#unreplayed.clear();
    for (const awaited of this.#awaited.values()) awaited.resolve(undefined);
    this.#awaited.clear();
  }
}

/** Throws `unprocessable` unless the values answer the wait. */
export async function checkAnswer(
  environment: Environment,
  { questions, schema }: LiveWait,
  values: JsonObject,
): Promise<void> {
  if (schema) {
    await checkWith(environment, schema, values, "the answer");
    return;
  }
  const missing = Object.keys(questions).filter((key) => !Object.hasOwn(values, key));
  const unknown = Object.keys(values).filter((key) => !Object.hasOwn(questions, key));
  const issues = [
    ...missing.map((path) => ({ path, message: "a value is expected" })),
    ...unknown.map((path) => ({ path, message: "this key was not asked for" })),
  ];
  if (issues.length > 0)
    throw new AgentError("unprocessable", "the answer does not fit the questions", { issues });
}
