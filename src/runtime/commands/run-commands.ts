import { AgentError } from "../../errors.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import { toOwned } from "../../ports/principal.ts";
import type { By } from "../../protocol/actors.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Scope } from "../access/scope.ts";
import type { CreateRunOptions, ForkOptions, ForkPlace } from "../api.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import { checkForkPoint } from "../run/fork.ts";
import { readForkedTurn } from "../run/forked-turn.ts";
import { findRemovable } from "../run/run-beginning.ts";
import { sendMessage } from "../run/messages.ts";
import type { RunMessage, RemovalReason } from "../run/messages.ts";
import type { Queries } from "../queries/queries.ts";
import { newRunId, newRunIdBeside } from "../journal/system-runs.ts";
import type { HostContext } from "../run-context.ts";
import { ownerOfKeys } from "./shared-actors.ts";
import type { KeyedRuns } from "./keyed-runs.ts";

/** Creates runs without a request, and forks and removes runs. */
export class RunCommands {
  readonly #context: HostContext;
  readonly #queries: Queries;
  readonly #keyed: KeyedRuns;

  constructor(context: HostContext, queries: Queries, keyed: KeyedRuns) {
    this.#context = context;
    this.#queries = queries;
    this.#keyed = keyed;
  }

  /** Creates a run, or finds the one that has the key. */
  async create(
    agent: string,
    { input = null, metadata = {}, key }: CreateRunOptions,
    scope: Scope,
  ): Promise<RunId> {
    const { by } = scope;
    const owner = key === undefined ? scope.owner : ownerOfKeys(this.#context.agents, agent, scope);
    const given = toJson({ input, metadata }, "the input and the metadata of a run", INPUT_LIMIT_BYTES);
    const made = { ...toOwned(owner), ...(by && { by }) };
    const message = {
      kind: "create",
      agent,
      ...made,
      ...(given as { input: Json; metadata: JsonObject }),
    } as const;
    if (key === undefined) return this.#create(this.#newId(), message);
    return this.#keyed.send(
      { owner, agent, key },
      () => this.#newId(),
      async (runId, isNew) => (isNew ? this.#create(runId, { ...message, key }) : runId),
    );
  }

  /**
   * Creates a run with the history of another one up to an event, or up to a question of its open turn, which the new run then
   * continues.
   */
  async fork(sourceId: RunId, point: ForkPlace & ForkOptions, scope: Scope): Promise<RunId> {
    const { environment, log, router } = this.#context;
    const source = await this.#queries.run(sourceId, scope);
    const key = point.takesKey === true ? source.alias : undefined;
    if (point.takesKey === true && key === undefined)
      throw new AgentError("conflict", `run ${sourceId} has no key that its fork could take`);
    if (point.after !== undefined) await checkForkPoint(log, source, point.after);
    else await readForkedTurn(this.#context, source, point.waitId);
    const runId = key === undefined ? this.#newId() : newRunIdBeside(environment, log, sourceId);
    const { after = (point.waitId ?? 0) - 1 } = point;
    const requestId = `req_${environment.newId()}` as RequestId;
    const turn = point.waitId === undefined ? undefined : { waitId: point.waitId, requestId };
    try {
      await sendMessage(router, runId, {
        kind: "fork",
        source: sourceId,
        after,
        ...(turn && { turn }),
        ...(key !== undefined && { key }),
        ...(scope.by && { by: scope.by }),
      });
      if (turn) await sendMessage(router, runId, { kind: "recover" });
      // A run that is loaded later reads from its row that it has no key any more.
      if (key !== undefined) await sendMessage(router, sourceId, { kind: "unnamed" }).catch(() => {});
    } catch (error) {
      // If the source was removed, the copy is useless; other unfinished copies are removed at the next
      // start.
      if (error instanceof AgentError && error.code === "gone") await this.remove(runId, undefined);
      throw error;
    }
    return runId;
  }

  /** Removes an idle run with everything that belongs to it: for a client, or for a reason of the runtime. */
  async remove(runId: RunId, why: RemovalReason | By | undefined): Promise<void> {
    const cause = typeof why === "string" ? { reason: why } : why && { by: why };
    await sendMessage(this.#context.router, runId, { kind: "remove", ...cause });
    this.#queries.forget(new Set([runId]));
  }

  /** Drops what this process and the store of files still have of runs that were removed from the log alone. */
  async forget(removed: ReadonlySet<RunId>): Promise<void> {
    const { files, log } = this.#context;
    this.#queries.forget(removed);
    // Files that another node was still storing.
    if (log.node !== undefined) await Promise.all(Array.from(removed, (runId) => files.remove(runId)));
  }

  /** Removes what happened in a run with an open turn up to a time, as far as nothing that is open needs it. */
  async shorten(run: RunEntry, upTo: number): Promise<void> {
    const { log, router, limits } = this.#context;
    let before: number | undefined;
    for (;;) {
      // A run is not loaded for nothing: its owner is asked only if there is something to remove.
      const end = await findRemovable(log, run, upTo, limits.checkpointEvents);
      if (end === undefined || end === before) return;
      before = end;
      await sendMessage(router, run.runId, { kind: "shorten", upTo });
    }
  }

  async #create(runId: RunId, message: RunMessage): Promise<RunId> {
    await sendMessage(this.#context.router, runId, message, { isNew: true });
    return runId;
  }

  #newId(): RunId {
    return newRunId(this.#context.environment);
  }
}
