import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Request } from "../../protocol/requests/requests.ts";
import { ACTIONS, toResource } from "../access/authorize.ts";
import type { Action } from "../access/authorize.ts";
import type { Rights } from "../access/rights.ts";
import { seesRun } from "../access/scope.ts";
import type { Scope } from "../access/scope.ts";
import { unknownAgent } from "../agent/agent-directory.ts";
import type { AgentDirectory } from "../agent/agent-directory.ts";
import type { CreateRunOptions, Upload } from "../api.ts";
import type { Queries } from "../queries/queries.ts";
import type { KeyedRuns } from "./keyed-runs.ts";
import { ownerOfKeys } from "./shared-actors.ts";

/** What the permissions of a caller are read from. */
export interface PermissionsOptions {
  readonly log: EventLog;
  readonly agents: AgentDirectory;
  readonly queries: Queries;
  readonly keyed: KeyedRuns;
  readonly scope: Scope;
  readonly rights: Rights;
}

/** What a caller may do with agents and runs. What it does not see is refused like what does not exist. */
export class Permissions {
  readonly #options: PermissionsOptions;

  constructor(options: PermissionsOptions) {
    this.#options = options;
  }

  /** The names of the agents that the caller sees. */
  get agents(): readonly string[] {
    const { agents, rights } = this.#options;
    return rights.allows === undefined ? agents.names : agents.names.filter((name) => this.#seesAgent(name));
  }

  /** Whether an agent is served, and the caller sees it. */
  isServed(agent: string): boolean {
    return this.#options.agents.find(agent) !== undefined && this.#seesAgent(agent);
  }

  /** Throws `not_found`, with the names of the agents that the caller sees, for any other. */
  checkAgent(agent: string): void {
    if (!this.isServed(agent)) throw unknownAgent(agent, this.agents);
  }

  /** Throws unless the caller sees the run and may do this with it. */
  async permit(action: Action, runId: RunId): Promise<RunEntry> {
    const { queries, rights, scope } = this.#options;
    const run = await queries.run(runId, scope);
    rights.permit(action, toResource(run));
    return run;
  }

  /** Throws unless the caller may make a request. */
  async permitRequest(agent: string, request: Request): Promise<void> {
    const { rights, scope } = this.#options;
    if (rights.allows === undefined) return;
    const action = ACTIONS[request.type];
    const run = await this.#targetOf(agent, request);
    const metadata = ("request_metadata" in request && request.request_metadata) || {};
    rights.permit(action, run ? toResource(run) : { owner: scope.owner, agent, metadata });
  }

  /** Throws unless the caller may create a run, or work with the one that has the key. */
  async permitRun(agent: string, { key, metadata = {} }: CreateRunOptions): Promise<void> {
    const { rights, scope } = this.#options;
    if (rights.allows === undefined) return;
    const run = key === undefined ? undefined : await this.#keyedRun(agent, key);
    rights.permit("process", run ? toResource(run) : { owner: scope.owner, agent, metadata });
  }

  /** Throws unless the caller may store a file. */
  async permitUpload({ runId }: Upload): Promise<void> {
    const { rights, scope } = this.#options;
    if (runId === undefined) rights.permit("upload", { owner: scope.owner, metadata: {} });
    else if (rights.allows !== undefined) await this.permit("upload", runId);
  }

  #seesAgent(agent: string): boolean {
    const { rights, scope } = this.#options;
    return rights.allows?.("describe", { owner: scope.owner, agent, metadata: {} }) ?? true;
  }

  /** The run that a request is for; `undefined` if it would create one. */
  async #targetOf(agent: string, request: Request): Promise<RunEntry | undefined> {
    const { queries, scope } = this.#options;
    const isForTurn = request.type === "ResumeWithInput" || request.type === "CancelRequest";
    if (isForTurn && request.request_id !== undefined)
      return queries.run((await queries.request(request.request_id, scope)).runId, scope);
    if (request.type === "CancelRequest") return undefined;
    const { run_id: runId, key } = request;
    if (runId !== undefined) return queries.run(runId, scope);
    return key === undefined ? undefined : this.#keyedRun(agent, key);
  }

  /** The run with a key; `undefined` if there is none. Throws `not_found` for one that the caller does not see. */
  async #keyedRun(agent: string, key: string): Promise<RunEntry | undefined> {
    const { agents, keyed, log, scope } = this.#options;
    const runId = await keyed.find({ owner: ownerOfKeys(agents, agent, scope), agent, key });
    const run = runId === undefined ? undefined : await log.run(runId);
    if (run === undefined || run.removed === true) return undefined;
    if (seesRun(scope, run)) return run;
    throw new AgentError("not_found", `agent ${agent} has no run with the key ${key}`);
  }
}
