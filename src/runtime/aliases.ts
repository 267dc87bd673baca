import type { EventLog } from "../ports/event-log.ts";
import type { RunId } from "../protocol/ids.ts";

/** Finds runs by their aliases, and sees to it that many who create the same one at once create one run. */
export class Aliases {
  readonly #log: EventLog;
  readonly #underWay = new Map<string, Promise<RunId>>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** The run that has an alias, or the one that `create` makes with it. */
  async findOrCreate(alias: string, create: () => Promise<RunId>): Promise<RunId> {
    const underWay = this.#underWay.get(alias);
    if (underWay) return underWay;
    const work = this.#findOrCreate(alias, create);
    this.#underWay.set(alias, work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(alias);
    }
  }

  async #findOrCreate(alias: string, create: () => Promise<RunId>): Promise<RunId> {
    const known = await this.#log.find(alias);
    if (known !== undefined) return known;
    try {
      return await create();
    } catch (error) {
      // Another process may have taken the name meanwhile.
      const other = await this.#log.find(alias);
      if (other !== undefined) return other;
      throw error;
    }
  }
}
