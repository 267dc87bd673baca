import { TaskState } from "@a2a-js/sdk";
import type { ListTasksRequest, ListTasksResponse, Task } from "@a2a-js/sdk";
import type { Context } from "hono";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import type { Push } from "../../http/push.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Host } from "../../http/routes/host.ts";
import { AgentError } from "../../errors.ts";
import type { RequestPhase } from "../../protocol/answers/status.ts";
import { idOf } from "../../protocol/events/encode.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { ListedRequest, RequestsQuery } from "../../runtime/lists.ts";
import { findConversation } from "../../view/conversation.ts";
import { contextOf, WIRE } from "./place.ts";
import type { TaskPlace } from "./place.ts";
import { TaskFold } from "./task-fold.ts";

/** What a request of a client works with. */
export interface TaskService {
  readonly c: Context<AppEnv>;
  readonly host: Host;
  readonly agent: string;
  /** Absent if the server sends no webhooks. */
  readonly push?: Push | undefined;
}

/** Where a task is read, and what stands before the addresses of its files. */
export interface TaskSource {
  readonly runtime: Runtime;
  readonly prefix: string;
}

/** What a request of a client reads from. */
export function sourceOf({ c, host }: TaskService): TaskSource {
  return { runtime: host.runtime, prefix: host.mount.addressOf(c, "") };
}

/** Reads a task up to an event; by default to its newest one. */
export async function readFold(
  { runtime, prefix }: TaskSource,
  place: TaskPlace,
  until: number = Infinity,
): Promise<TaskFold> {
  const { agent, runId, requestId } = place;
  // Before the events: what they say is then at least as new.
  const status = await runtime.status(requestId);
  const fold = new TaskFold(place, await contextOf(runtime, runId), status.created_at);
  const address = { kind: "request", agent, runId, requestId } as const;
  for (let after = 0, more = true; more && after < until;) {
    const limit = Math.min(1_000, until - after);
    const page = await runtime.read(address, { after, limit, filter: { level: "all" } });
    for (const event of page.events) {
      if (idOf(event) > until) return fold;
      fold.take(withPrefix(event, prefix));
    }
    after = page.cursor;
    more = page.more;
  }
  const isParked = status.status === "waiting" || status.status === "held";
  if (until === Infinity && isParked && status.wait_id !== undefined) fold.endAtWait();
  return fold;
}

/** Lists the tasks of an agent: those of the context that was changed last first, and of a context the newest first. */
export async function listTasksOf(service: TaskService, asked: ListTasksRequest): Promise<ListTasksResponse> {
  const { host, agent } = service;
  const { runtime } = host;
  const source = sourceOf(service);
  const { contextId, status, pageSize = 50, historyLength, includeArtifacts = false } = asked;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 100)
    throw wrongField("pageSize", "must be a number from 1 to 100");
  if (historyLength !== undefined && !(Number.isInteger(historyLength) && historyLength >= 0))
    throw wrongField("historyLength", "must be a number from 0");
  if (status === TaskState.UNRECOGNIZED) throw wrongField("status", "must be a state of tasks");
  const since = readTime(asked.statusTimestampAfter);
  const phases = phasesOf(status);
  let { count, phase, cursor } = readToken(asked.pageToken, phases.length);
  const query: Omit<RequestsQuery, "limit"> = {
    agent,
    ...(since !== undefined && { updatedAfter: since }),
    ...(contextId !== "" && (await inContext(runtime, agent, contextId))),
  };
  const tasks: Task[] = [];
  for (let looked = 0; phase < phases.length && tasks.length < pageSize && looked < LOOKED;) {
    const wanted = phases[phase];
    const page = await runtime.listRequests({
      ...query,
      ...(wanted !== undefined && { status: wanted }),
      limit: pageSize - tasks.length,
      ...(cursor !== undefined && { cursor }),
    });
    for (const request of page.requests) {
      const task = await taskOf(request);
      if (task !== undefined) tasks.push(task);
    }
    looked += page.requests.length;
    cursor = page.next;
    if (cursor === undefined) phase += 1;
  }
  count += tasks.length;
  const isOver = phase >= phases.length;
  return {
    tasks,
    nextPageToken: isOver ? "" : `${count}~${phase}~${cursor ?? ""}`,
    pageSize,
    // Of a longer list it is what was read so far: an exact count would read all of the log.
    totalSize: count,
  };

  async function taskOf(request: ListedRequest): Promise<Task | undefined> {
    const { run_id: runId, request_id: requestId, started, completed } = request;
    // A message to the agent is no task.
    if (started !== undefined && started === completed) return undefined;
    const fold = await readFold(source, { agent, runId, requestId }).catch(unlessGone);
    const task = fold?.task({ historyLength, artifacts: includeArtifacts });
    const { state, timestamp = "" } = task?.status ?? {};
    if (status !== TaskState.TASK_STATE_UNSPECIFIED && state !== status) return undefined;
    return since !== undefined && Date.parse(timestamp) < since ? undefined : task;
  }
}

/** How many requests a page looks at. */
const LOOKED = 1_000;

/** The requests of a context; those of an unknown one are none. */
async function inContext(runtime: Runtime, agent: string, name: string): Promise<{ readonly runId: RunId }> {
  const { runId = "" } = await findConversation(runtime, { wire: WIRE, agent, name });
  return { runId };
}

/** A task whose run was removed meanwhile is not listed. */
function unlessGone(thrown: unknown): undefined {
  if (thrown instanceof AgentError && (thrown.code === "gone" || thrown.code === "not_found")) return;
  throw thrown;
}

/** The phases that the requests of a state have in the index, which are listed one after the other; `undefined` is all of them. */
function phasesOf(state: TaskState): readonly (RequestPhase | undefined)[] {
  switch (state) {
    case TaskState.TASK_STATE_UNSPECIFIED:
      return [undefined];
    case TaskState.TASK_STATE_SUBMITTED:
      return ["queued"];
    case TaskState.TASK_STATE_WORKING:
      return ["running", "waiting", "held"];
    case TaskState.TASK_STATE_INPUT_REQUIRED:
      return ["waiting", "held"];
    default:
      return ["completed"];
  }
}

function readTime(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw wrongField("statusTimestampAfter", "must be a time");
  return time;
}

/** Where a page begins: behind how many tasks, in which phase, and behind which request of it. */
function readToken(
  token: string,
  phases: number,
): { count: number; phase: number; cursor: string | undefined } {
  if (token === "") return { count: 0, phase: 0, cursor: undefined };
  const [, count, phase, cursor] = /^(\d{1,9})~(\d)~([\w.-]*)$/.exec(token) ?? [];
  if (count === undefined || Number(phase) >= phases)
    throw wrongField("pageToken", "must be the nextPageToken of a page");
  return { count: Number(count), phase: Number(phase), cursor: cursor === "" ? undefined : cursor };
}
