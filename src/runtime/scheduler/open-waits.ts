import { AgentError } from "../../errors.ts";
import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { isUnder } from "../journal/call-id.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { Wait, LiveWait } from "./call-tree.ts";
import { checkWith } from "../agent/schema.ts";

/** The open waits of a turn: those that its code has come to, and those that it will come to when it runs again. */
export class OpenWaits {
  /** The names of the answers that were given. */
  readonly resumeIds: Set<string>;
  /** The id of the newest ResumeWithInput, 0 for none. */
  lastResume: number;
  readonly #live = new Map<CallId, LiveWait>();
  readonly #ahead: Map<CallId, Wait>;
  readonly #awaited = new Map<CallId, PromiseWithResolvers<LiveWait | undefined>>();

  constructor({ waits, resumeIds, lastResume }: TurnJournal) {
    this.#ahead = new Map(waits);
    this.resumeIds = new Set(resumeIds);
    this.lastResume = lastResume;
  }

  /** How many are open. */
  get size(): number {
    return this.#live.size + this.#ahead.size;
  }

  /** Whether the code has come to any. */
  get anyLive(): boolean {
    return this.#live.size > 0;
  }

  /** Whether the code has yet to come to any. */
  get anyAhead(): boolean {
    return this.#ahead.size > 0;
  }

  /** All that can be answered, oldest first. */
  get all(): readonly Wait[] {
    return [...this.#ahead.values(), ...this.#live.values()].sort((a, b) => a.waitId - b.waitId);
  }

  /** The wait of a call, if the code has come to it. */
  get(callId: CallId): LiveWait | undefined {
    return this.#live.get(callId);
  }

  /** The wait of a call, once the code has come to it; `undefined` if the turn ends before. */
  when(callId: CallId): Promise<LiveWait | undefined> {
    const live = this.#live.get(callId);
    if (live || !this.#ahead.has(callId)) return Promise.resolve(live);
    const awaited = this.#awaited.get(callId) ?? Promise.withResolvers<LiveWait | undefined>();
    this.#awaited.set(callId, awaited);
    return awaited.promise;
  }

  /** The code has come to a wait. */
  add(wait: LiveWait): void {
    const { callId } = wait;
    this.#live.set(callId, wait);
    this.#ahead.delete(callId);
    this.#awaited.get(callId)?.resolve(wait);
    this.#awaited.delete(callId);
  }

  /** A wait is closed. */
  remove(callId: CallId): void {
    this.#live.delete(callId);
  }

  /** The code will not come to the waits under a call any more. */
  giveUpAhead(above: CallId): void {
    for (const callId of this.#ahead.keys()) {
      if (!isUnder(callId, above)) continue;
      this.#ahead.delete(callId);
      this.#awaited.get(callId)?.resolve(undefined);
      this.#awaited.delete(callId);
    }
  }

  /** The turn has ended, or is let go of. */
  clear(): void {
    this.#live.clear();
    this.#ahead.clear();
    for (const awaited of this.#awaited.values()) awaited.resolve(undefined);
    this.#awaited.clear();
  }
}

/** Throws `unprocessable` unless the values are an answer to what was asked. */
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
