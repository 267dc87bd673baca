import { AgentError, isInstance } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunAlias } from "../../ports/log-batch.ts";
import { toOwned } from "../../ports/principal.ts";
import type { RunId } from "../../protocol/ids.ts";
import { isKey } from "../../protocol/ids.ts";
import { isRenewed } from "../run/renewal.ts";

/** Returned in place of a result if the key belongs to another run now, or to none. */
const MOVED: unique symbol = Symbol("moved");

/**
 * How many times the run of a key is created before the request fails. Other clients may create and remove runs with
 * the same key at the same time.
 */
const CREATIONS = 3;

/** An actor of an owner; each owner has keys of its own. */
export interface KeyedActor {
  readonly owner: string;
  readonly agent: string;
  readonly key: string;
}

/** Finds runs by key, and creates the run of a key once. */
export class KeyedRuns {
  readonly #log: EventLog;
  readonly #creating = new Map<string, Promise<unknown>>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** The run with a key; `undefined` if there is none. */
  async find(actor: KeyedActor): Promise<RunId | undefined> {
    return this.#log.find(toAlias(actor));
  }

  /**
   * Sends something to the run with a key. Without such a run it is sent to a new one, `isNew` is true, and the commit
   * that accepts it must give the run its key. Of concurrent creations one succeeds; the others are sent to its run.
   */
  async send<Result>(
    actor: KeyedActor,
    newId: () => RunId,
    send: (runId: RunId, isNew: boolean) => Promise<Result>,
  ): Promise<Result> {
    const alias = toAlias(actor);
    const name = `${actor.agent} ${actor.key} ${actor.owner}`;
    for (let creations = 0; ;) {
      const known = await this.#log.find(alias);
      if (known !== undefined) {
        const sent = await this.#sendTo(known, alias, send);
        if (sent !== MOVED) return sent;
        continue;
      }
      const creating = this.#creating.get(name);
      if (creating === undefined) {
        creations += 1;
        const mayRepeat = creations < CREATIONS;
        const sent = await this.#createOnce(name, this.#create(alias, newId(), send, mayRepeat));
        if (sent !== MOVED) return sent;
      } else {
        // Whether the creation succeeded is read from the log in the next round.
        await creating.catch(() => {});
      }
    }
  }

  async #createOnce<Result>(name: string, work: Promise<Result>): Promise<Result> {
    this.#creating.set(name, work);
    try {
      return await work;
    } finally {
      this.#creating.delete(name);
    }
  }

  /** Sends to the run of a key, unless that run was removed or renewed in the meantime. */
  async #sendTo<Result>(
    runId: RunId,
    alias: RunAlias,
    send: (runId: RunId, isNew: boolean) => Promise<Result>,
  ): Promise<Result | typeof MOVED> {
    try {
      return await send(runId, false);
    } catch (error) {
      const isGone = error instanceof AgentError && error.code === "gone";
      if (!isGone && !isRenewed(error)) throw error;
      if ((await this.#log.find(alias)) !== runId) return MOVED;
      throw new AgentError("unavailable", `the run with the key ${alias.name} is being removed; retry`, {
        retryAfterS: 1,
        cause: error,
      });
    }
  }

  async #create<Result>(
    alias: RunAlias,
    runId: RunId,
    send: (runId: RunId, isNew: boolean) => Promise<Result>,
    mayRepeat: boolean,
  ): Promise<Result | typeof MOVED> {
    try {
      return await send(runId, true);
    } catch (error) {
      // Another process may have given the key to a run in the meantime.
      const other = await this.#log.find(alias);
      if (other === runId || (other === undefined && !(mayRepeat && isTaken(error)))) throw error;
      return MOVED;
    }
  }
}

/** Whether a new run was refused, perhaps because another one had its key in the meantime. */
function isTaken(error: unknown): boolean {
  return isInstance(error, AgentError) && error.code === "conflict";
}

function toAlias({ owner, agent, key }: KeyedActor): RunAlias {
  if (isKey(key)) return { ...toOwned(owner), agent, name: key };
  const message = "must have 1 to 128 letters, digits and signs of _ - . : @";
  throw new AgentError("invalid_request", `the key ${message}`, { issues: [{ path: "key", message }] });
}
