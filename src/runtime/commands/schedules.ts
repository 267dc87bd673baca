import { AgentError } from "../../errors.ts";
import type { ScheduleEntry } from "../../ports/log-entries.ts";
import { DEFAULT_OWNER, ownerOf, toOwned } from "../../ports/principal.ts";
import type { ScheduleRequest, ScheduleSummary } from "../../protocol/answers/schedule.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { OperationRequest, Request } from "../../protocol/requests/requests.ts";
import { ownerIn, seesRun } from "../access/scope.ts";
import { ownerOfKeys } from "./shared-actors.ts";
import type { Scope } from "../access/scope.ts";
import type { Agent } from "../agent/agent.ts";
import { checkTold, isMessageName } from "../agent/resolve-operation.ts";
import { checkScheduleId, fromEntry, toNewSchedule, toScheduleSummary } from "../journal/stored-schedule.ts";
import type { GivenTime } from "../journal/stored-schedule.ts";
import type { Receipt, RuntimeSchedules } from "../api.ts";
import type { SchedulesPage, SchedulesQuery } from "../lists.ts";
import { newRunId } from "../journal/system-runs.ts";
import type { Queries } from "../queries/queries.ts";
import type { HostContext } from "../run-context.ts";
import { sendMessage } from "../run/messages.ts";
import type { ScheduleChange } from "../run/messages.ts";
import { toScheduledRequest } from "../run/schedules.ts";
import { checkToldRequest } from "./check-request.ts";
import type { KeyedRuns } from "./keyed-runs.ts";
import type { Permissions } from "./permissions.ts";

/** What the schedules of a caller are made with. */
export interface ScheduleCommandsParts {
  readonly context: HostContext;
  readonly keyed: KeyedRuns;
  readonly queries: Queries;
  readonly permissions: Permissions;
  readonly scope: Scope;
  /** Resolves when the runtime has started. */
  open(): Promise<void>;
  /** Replaces what is secret in a request. */
  redact(agent: string, request: OperationRequest): OperationRequest;
  process(agent: string, request: Request): Promise<Receipt>;
}

/** The schedules of actors for one caller. */
export class ScheduleCommands implements RuntimeSchedules {
  readonly #parts: ScheduleCommandsParts;

  constructor(parts: ScheduleCommandsParts) {
    this.#parts = parts;
  }

  async list({
    owner,
    agent,
    key,
    runId: givenRunId,
    limit,
    cursor,
  }: SchedulesQuery): Promise<SchedulesPage> {
    const { context, keyed, scope } = this.#parts;
    if (key !== undefined && agent === undefined)
      throw new AgentError("invalid_request", "a key is one of an agent: name the agent too");
    const owners = scope.seesAll ? (owner ?? scope.owner) : scope.owner;
    const keyedRun =
      key === undefined || agent === undefined ? undefined : await keyed.find({ owner: owners, agent, key });
    if (key !== undefined && keyedRun === undefined) return { schedules: [] };
    const runId = givenRunId ?? keyedRun;
    const selected = scope.seesAll ? owner : ownerIn(scope);
    const page = await context.log.schedules({
      ...(selected !== undefined && { owner: selected }),
      ...(agent !== undefined && { agent }),
      ...(runId !== undefined && { runId }),
      ...(cursor !== undefined && { cursor }),
      limit,
    });
    const shown = await Promise.all(page.schedules.map((entry) => this.#show(entry)));
    return {
      schedules: shown.filter((summary) => summary !== undefined),
      ...(page.next !== undefined && { next: page.next }),
    };
  }

  async make(agentName: string, given: ScheduleRequest): Promise<ScheduleSummary> {
    const { context, keyed, permissions, queries, scope } = this.#parts;
    const { environment, owners } = context;
    permissions.checkAgent(agentName);
    const agent = context.agents.get(agentName);
    // Before any wait, in which the caller can change its objects.
    const copy = structuredClone(given);
    const { key, run_id: givenRunId, operation } = copy;
    if ((key === undefined) === (givenRunId === undefined))
      throw new AgentError("invalid_request", "a schedule needs the key or the run_id of an actor");
    const place = key === undefined ? { run_id: givenRunId as RunId } : { key };
    const asked = this.#parts.redact(agentName, {
      type: "OperationRequest",
      operation,
      input: copy.input ?? {},
      ...place,
    });
    const { id, ...schedule } = toChecked(() =>
      toNewSchedule(
        { operation, input: asked.input, seed: [environment.newId()] },
        toGivenTime(copy),
        "a schedule",
        () => environment.now(),
      ),
    );
    checkTold(agent, operation);
    await this.#parts.open();
    await permissions.permitRequest(agentName, asked);
    await checkToldRequest(context, agent, asked);
    const run = givenRunId === undefined ? undefined : await queries.run(givenRunId, scope);
    if (run !== undefined && run.agent !== agentName)
      throw new AgentError("not_found", `agent ${agentName} has no run ${run.runId}`);
    const owner = run === undefined ? ownerOfKeys(context.agents, agentName, scope) : ownerOf(run);
    await owners?.admitRequest(owner);
    const send = async (runId: RunId): Promise<RunId> => {
      await this.#send(runId, { agent, owner, key, change: { type: "set", id, schedule } });
      return runId;
    };
    const newId = (): RunId => newRunId(environment);
    const runId =
      key === undefined
        ? await send(givenRunId as RunId)
        : await keyed.send({ owner, agent: agentName, key }, newId, send);
    return this.#get(runId, id);
  }

  async pause(runId: RunId, id: string): Promise<ScheduleSummary> {
    await this.#change(runId, { type: "pause", id });
    return this.#get(runId, id);
  }

  async resume(runId: RunId, id: string): Promise<ScheduleSummary> {
    await this.#change(runId, { type: "resume", id });
    return this.#get(runId, id);
  }

  async remove(runId: RunId, id: string): Promise<void> {
    await this.#change(runId, { type: "remove", id });
  }

  async run(
    runId: RunId,
    id: string,
    { requestId }: { readonly requestId?: RequestId } = {},
  ): Promise<Receipt> {
    const { context, queries, scope, process } = this.#parts;
    checkScheduleId(id);
    await this.#parts.open();
    const { agent: name } = await queries.run(runId, scope);
    const [entry] = (await context.log.schedules({ runId, id, limit: 1 })).schedules;
    if (entry === undefined) throw noSchedule(runId, id);
    const stored = fromEntry(entry);
    const agent = context.agents.get(name);
    const { operation, input } = toScheduledRequest(
      stored,
      stored.isDefined === true ? agent.schedules?.[id] : undefined,
    );
    const named = requestId === undefined ? {} : { request_id: requestId };
    if (isMessageName(agent, operation))
      return process(name, { type: "Message", name: operation, body: input, run_id: runId, ...named });
    const request: OperationRequest = {
      type: "OperationRequest",
      operation,
      input,
      run_id: runId,
      on_busy: "enqueue",
      request_metadata: { schedule: id },
      ...named,
    };
    return process(name, request);
  }

  async #change(runId: RunId, change: Exclude<ScheduleChange, { readonly type: "define" }>): Promise<void> {
    const { context, permissions } = this.#parts;
    checkScheduleId(change.id);
    await this.#parts.open();
    const run = await permissions.permit("process", runId);
    await this.#send(runId, { agent: context.agents.get(run.agent), owner: ownerOf(run), change });
  }

  async #send(
    runId: RunId,
    {
      agent,
      owner,
      key,
      change,
    }: {
      readonly agent: Agent;
      readonly owner: string;
      readonly key?: string | undefined;
      readonly change: ScheduleChange;
    },
  ): Promise<void> {
    const { context, scope } = this.#parts;
    await sendMessage(context.router, runId, {
      kind: "schedules",
      agent: agent.name,
      ...(key !== undefined && { key }),
      ...(owner !== DEFAULT_OWNER && toOwned(owner)),
      ...(scope.by && { by: scope.by }),
      change,
    });
  }

  async #get(runId: RunId, id: string): Promise<ScheduleSummary> {
    const [entry] = (await this.#parts.context.log.schedules({ runId, id, limit: 1 })).schedules;
    const summary = entry && (await this.#show(entry));
    if (summary === undefined) throw noSchedule(runId, id);
    return summary;
  }

  /** A schedule as the caller sees it; `undefined` if it does not see its run. */
  async #show(entry: ScheduleEntry): Promise<ScheduleSummary | undefined> {
    const { context, scope } = this.#parts;
    const run = await context.log.run(entry.runId);
    const isSeen = run !== undefined && run.removed !== true && run.agent !== "" && seesRun(scope, run);
    return isSeen ? toScheduleSummary(entry, run) : undefined;
  }
}

function noSchedule(runId: RunId, id: string): AgentError {
  return new AgentError("not_found", `run ${runId} has no schedule ${id}`);
}

/** When a schedule of a client is due, and its id. */
function toGivenTime({
  id,
  every_ms: everyMs,
  at,
  after_ms: afterMs,
  cron,
  timezone,
  overlap,
}: ScheduleRequest): GivenTime {
  return { id, everyMs, at: at === undefined ? undefined : new Date(at), afterMs, cron, timezone, overlap };
}

/** What the code of an agent gets as a TypeError is `invalid_request` for a client. */
function toChecked<Value>(make: () => Value): Value {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof TypeError) throw new AgentError("invalid_request", thrown.message);
    throw thrown;
  }
}
