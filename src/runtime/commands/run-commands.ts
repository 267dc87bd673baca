import { AgentError } from "../../errors.ts";
import type { EventLog, RunAlias } from "../../ports/event-log.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { CreateRunOptions } from "../api.ts";
import { checkForkPoint } from "../run/fork.ts";
import { sendMessage } from "../run/messages.ts";
import type { Queries } from "../queries/queries.ts";
import type { RunContext } from "../run-context.ts";

/** Creates runs without a request, and forks and removes runs. */
export class RunCommands {
  readonly #context: RunContext;
  readonly #queries: Queries;
  readonly #aliases: Aliases;

  constructor(context: RunContext, queries: Queries) {
    this.#context = context;
    this.#queries = queries;
    this.#aliases = new Aliases(context.log);
  }

  /** Creates a run, or finds the one that has the alias. */
  async create(agent: string, { input = null, metadata = {}, alias }: CreateRunOptions = {}): Promise<RunId> {
    const { router } = this.#context;
    const runId = this.#newId();
    if (alias === undefined) {
      await sendMessage(router, runId, { kind: "create", agent, input, metadata });
      return runId;
    }
    return this.#aliases.findOrCreate({ agent, name: alias }, async () => {
      await sendMessage(router, runId, { kind: "create", agent, input, metadata, alias });
      return runId;
    });
  }

  /** The run that was created with an alias. */
  find(agent: string, name: string): Promise<RunId | undefined> {
    return this.#context.log.find({ agent, name });
  }

  /** Creates a run with the history of another one up to an event. */
  async fork(sourceId: RunId, after: number): Promise<RunId> {
    const { log, router } = this.#context;
    await checkForkPoint(log, await this.#queries.run(sourceId), after);
    const runId = this.#newId();
    try {
      await sendMessage(router, runId, { kind: "fork", source: sourceId, after });
    } catch (error) {
      // If the source was removed, the copy is useless; other unfinished copies are removed at the next
      // start.
      if (error instanceof AgentError && error.code === "gone") await this.remove(runId);
      throw error;
    }
    return runId;
  }

  /** Removes an idle run with everything that belongs to it. */
  async remove(runId: RunId): Promise<void> {
    await sendMessage(this.#context.router, runId, { kind: "remove" });
    this.#queries.forget(runId);
  }

  #newId(): RunId {
    return `run_${this.#context.environment.newId()}` as RunId;
  }
}

/** Finds runs by alias. Concurrent creations with one alias create one run. */
export class Aliases {
  readonly #log: EventLog;
  readonly #underWay = new Map<string, Promise<RunId>>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** The run that has an alias, or a new one from `create`. */
  async findOrCreate(alias: RunAlias, create: () => Promise<RunId>): Promise<RunId> {
    const key = `${alias.agent} ${alias.name}`;
    const underWay = this.#underWay.get(key);
    if (underWay) return underWay;
    const work = this.#findOrCreate(alias, create);
    this.#underWay.set(key, work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(key);
    }
  }

  async #findOrCreate(alias: RunAlias, create: () => Promise<RunId>): Promise<RunId> {
    const known = await this.#log.find(alias);
    if (known !== undefined) return known;
    try {
      return await create();
    } catch (error) {
      // Another process may have taken the alias in the meantime.
      const other = await this.#log.find(alias);
      if (other !== undefined) return other;
      throw error;
    }
  }
}
