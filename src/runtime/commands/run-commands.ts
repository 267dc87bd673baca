import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { CreateRunOptions } from "../api.ts";
import { checkForkPoint } from "../run/fork.ts";
import type { Message, Reply } from "../run/messages.ts";
import type { Queries } from "../queries/queries.ts";
import type { RunContext } from "../run-context.ts";

/** What runs are made and removed with. */
export interface RunCommandsOptions {
  readonly context: RunContext;
  readonly queries: Queries;
  send(runId: RunId, message: Message): Promise<Reply>;
  /** Called when a removal was begun that the log does not take at present. */
  unfinished(): void;
}

/** Begins runs without a request, copies and removes them. */
export class RunCommands {
  readonly #options: RunCommandsOptions;
  readonly #aliases: Aliases;

  constructor(options: RunCommandsOptions) {
    this.#options = options;
    this.#aliases = new Aliases(options.context.log);
  }

  /** Begins a run, or finds the one that has the alias. */
  async create(agent: string, { input = null, metadata = {}, alias }: CreateRunOptions = {}): Promise<RunId> {
    const { send } = this.#options;
    const runId = this.#newId();
    if (alias === undefined) {
      await send(runId, { kind: "create", agent, input, metadata });
      return runId;
    }
    return this.#aliases.findOrCreate(alias, async () => {
      await send(runId, { kind: "create", agent, input, metadata, alias });
      return runId;
    });
  }

  /** Begins a run with the history of another one up to an event. */
  async fork(sourceId: RunId, after: number): Promise<RunId> {
    const { context, queries, send } = this.#options;
    await checkForkPoint(context.log, await queries.run(sourceId), after);
    const runId = this.#newId();
    try {
      await send(runId, { kind: "fork", source: sourceId, after });
    } catch (error) {
      // A copy of what was removed meanwhile is no use; what else is not finished is removed at the next start.
      if (error instanceof AgentError && error.code === "gone") await this.remove(runId);
      throw error;
    }
    return runId;
  }

  /** Removes an idle run with all that belongs to it. */
  async remove(runId: RunId): Promise<void> {
    const { queries, send, unfinished } = this.#options;
    try {
      await send(runId, { kind: "remove" });
    } catch (error) {
      // What was begun is finished when the log takes it.
      if (error instanceof AgentError && error.code === "unavailable") unfinished();
      throw error;
    }
    queries.forget(runId);
  }

  #newId(): RunId {
    return `run_${this.#options.context.environment.newId()}` as RunId;
  }
}

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
