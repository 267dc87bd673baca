import { TaskState } from "@a2a-js/sdk";
import type { ListTasksRequest, ListTasksResponse, Task } from "@a2a-js/sdk";
import type { Context } from "hono";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { withPrefix } from "../../http/messages/mount.ts";
import type { Push } from "../../http/push.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Host } from "../../http/routes/host.ts";
import { idOf } from "../../protocol/events/encode.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { RunRequest } from "../../protocol/answers/status.ts";
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

/** Lists the tasks of an agent, the newest runs first. */
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
  const skip = readToken(asked.pageToken);
  const tasks: Task[] = [];
  let matched = 0;
  for await (const { runId, request } of requestsOf(contextId)) {
    if (!mayMatch(request, status)) continue;
    const place = { agent, runId, requestId: request.request_id };
    const task = (await readFold(source, place)).task({ historyLength, artifacts: includeArtifacts });
    const { state, timestamp = "" } = task.status ?? {};
    if (status !== TaskState.TASK_STATE_UNSPECIFIED && state !== status) continue;
    if (since !== undefined && Date.parse(timestamp) < since) continue;
    matched += 1;
    if (matched > skip && tasks.length < pageSize) tasks.push(task);
    if (matched > skip + pageSize) break;
  }
  const hasMore = matched > skip + tasks.length;
  return {
    tasks,
    nextPageToken: hasMore ? String(skip + tasks.length) : "",
    pageSize,
    // Of a longer list it is what was read so far: an exact count would read all of the log.
    totalSize: matched,
  };

  async function* requestsOf(
    context: string,
  ): AsyncGenerator<{ readonly runId: string; readonly request: RunRequest }> {
    if (context !== "") {
      const { runId } = await findConversation(runtime, { wire: WIRE, agent, name: context });
      if (runId === undefined) return;
      for (const request of await runtime.requests(runId)) yield { runId, request };
      return;
    }
    let cursor: string | undefined;
    for (let pages = 0; pages < PAGES; pages += 1) {
      const page = await runtime.runs({ agent, limit: 100, ...(cursor !== undefined && { cursor }) });
      for (const { run_id: runId } of page.runs)
        for (const request of await runtime.requests(runId)) yield { runId, request };
      if (page.next === undefined) return;
      cursor = page.next;
    }
  }
}

/** How many hundreds of runs a list looks at. */
const PAGES = 10;

/** Whether a request can be in a state, by what the index says. */
function mayMatch({ status }: RunRequest, state: TaskState): boolean {
  switch (state) {
    case TaskState.TASK_STATE_UNSPECIFIED:
      return true;
    case TaskState.TASK_STATE_SUBMITTED:
      return status === "queued";
    case TaskState.TASK_STATE_WORKING:
      return status === "running" || status === "held" || status === "waiting";
    case TaskState.TASK_STATE_INPUT_REQUIRED:
      return status === "waiting" || status === "held";
    default:
      return status === "completed";
  }
}

function readTime(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw wrongField("statusTimestampAfter", "must be a time");
  return time;
}

function readToken(token: string): number {
  if (token === "") return 0;
  if (!/^\d{1,9}$/.test(token)) throw wrongField("pageToken", "must be the nextPageToken of a page");
  return Number(token);
}
