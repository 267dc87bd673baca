import { AgentError, toAgentError } from "../../../errors.ts";
import { isUnserved } from "../../../http/routes/unserved.ts";
import { RunReader } from "../../../view/run-reader.ts";
import type { RunReading } from "../../../view/run-reader.ts";
import { isId } from "../../../protocol/ids.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { RunDetails } from "../../../runtime/lists.ts";

/** Reads the tasks of an agent. */
export class TasksReader {
  readonly agent: string;
  readonly #runtime: Runtime;
  readonly #reader: RunReader;

  readonly #isAtRoot: boolean;

  /** At the root they are those of the default agent, and of agents that are no longer served. */
  constructor(runtime: Runtime, agent: string | undefined) {
    this.agent = agent ?? runtime.defaultAgent;
    this.#isAtRoot = agent === undefined;
    this.#runtime = runtime;
    // A page of the list can have 1,000 runs.
    this.#reader = new RunReader(runtime, { runs: 1_100 });
  }

  /** The run of a task; `not_found` for an unknown or removed one, and for one of another agent. */
  async run(taskId: string): Promise<RunDetails> {
    const run = isId(taskId) ? await unlessGone(this.#runtime.run(taskId)) : undefined;
    if (run === undefined || !this.#isShown(run.agent)) throw unknownTask(taskId);
    return run;
  }

  /** A task. It must be used at once, because its view changes with the next reading. */
  async read(taskId: string): Promise<RunReading> {
    await this.run(taskId);
    const view = await unlessGone(this.#reader.read(taskId));
    if (view === undefined) throw unknownTask(taskId);
    return view;
  }

  #isShown(agent: string): boolean {
    return agent === this.agent || (this.#isAtRoot && isUnserved(this.#runtime, agent));
  }

  /** One page of all tasks, oldest first, and the number of all. */
  async list(
    offset: number,
    limit: number,
  ): Promise<{ readonly runs: readonly RunDetails[]; readonly total: number }> {
    const { agent } = this;
    const query = { agent, order: "created", offset, limit, total: "all" } as const;
    const { runs, total = 0 } = await this.#runtime.runs(query);
    return { runs, total };
  }

  /** A run of the list; `undefined` if nothing has happened since it was created, or if it is removed. */
  async view({ run_id: runId, turns, last_event_id: head }: RunDetails): Promise<RunReading | undefined> {
    return turns === 0 && head <= 1 ? undefined : unlessGone(this.#reader.read(runId));
  }
}

function unknownTask(taskId: string): AgentError {
  return new AgentError("not_found", `there is no task ${taskId.slice(0, 128)}`);
}

/** A value; `undefined` if its run is unknown or removed. */
async function unlessGone<Value>(value: Promise<Value>): Promise<Value | undefined> {
  try {
    return await value;
  } catch (thrown) {
    const { code } = toAgentError(thrown);
    if (code === "not_found" || code === "gone") return undefined;
    throw thrown;
  }
}
