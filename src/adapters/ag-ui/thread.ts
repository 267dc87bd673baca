import { toAgentError } from "../../errors.ts";
import { findRequest } from "../../http/messages/native-request.ts";
import type { Host } from "../../http/routes/host.ts";
import { isId } from "../../protocol/ids.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { sha256 } from "../../shared/sha256.ts";
import { findConversation } from "../../view/conversation.ts";
import type { ConversationRun } from "../../view/conversation.ts";
import { readRunActivity } from "../../view/run-activity.ts";
import type { ResponseStart, RunActivity } from "../../view/run-activity.ts";
import { isAnswerOf } from "./place.ts";
import type { RunBegin, SegmentPlace } from "./place.ts";

/** The name of the wire. */
export const NAME = "ag-ui";

/** An agent, and what its routes work with. */
export interface ThreadService {
  readonly host: Host;
  readonly agent: string;
  /** Whether the memory of the agent is sent at the end of a turn. */
  readonly state: boolean;
}

/** A thread, and the name of one of its runs. */
export interface ThreadRun extends ThreadService {
  readonly thread: ConversationRun;
  readonly runId: string;
  /** The name of the run in our ids: that of its request, or the beginning of those of its answers. */
  readonly own: string;
  /** What the thread does; absent before its first request. */
  readonly activity?: RunActivity;
}

/** Finds a thread. Creates nothing. */
export async function openThread(
  service: ThreadService,
  { threadId, runId }: { readonly threadId: string; readonly runId: string },
): Promise<ThreadRun> {
  const { runtime } = service.host;
  const { agent } = service;
  const thread = await findConversation(runtime, { wire: NAME, agent, name: threadId });
  const opened = { ...service, thread, runId, own: await ownIdOf(service, thread, runId) };
  if (thread.runId === undefined) return opened;
  return { ...opened, activity: await readRunActivity(runtime, agent, thread.runId) };
}

/** The id that a run of a client has here: its own, unless it cannot be one of ours or another thread has it. */
async function ownIdOf(
  { host, agent }: ThreadService,
  thread: ConversationRun,
  runId: string,
): Promise<string> {
  if (isId(runId) && runId.length <= LIMIT) {
    const taken = await host.runtime.resolve(runId).catch((thrown: unknown) => {
      const { code } = toAgentError(thrown);
      if (code === "not_found") return undefined;
      if (code === "gone") return { kind: "gone" } as const;
      throw thrown;
    });
    if (taken === undefined || (taken.kind === "request" && taken.runId === thread.runId)) return runId;
  }
  return `${NAME}-${await sha256(JSON.stringify([agent, thread.name, runId]))}`;
}

/** The longest id that stays one with the number of a question behind it. */
const LIMIT = 100;

/** The run, if it was begun before. */
export async function findBegun(run: ThreadRun): Promise<SegmentPlace | undefined> {
  const { host, agent, thread, own, activity } = run;
  if (thread.runId === undefined) return undefined;
  const request = await findRequest(host.runtime, own);
  if (request?.runId === thread.runId && request.agent === agent)
    return toSegmentPlace(run, own, { type: "start" });
  const first = firstAnswer(own, activity);
  return first && toSegmentPlace(run, first.requestId, { type: "event", id: first.began });
}

/** The run of a thread that was begun last; undefined before the first one. */
export async function findNewest(run: ThreadRun): Promise<SegmentPlace | undefined> {
  const { host, thread, activity } = run;
  if (thread.runId === undefined || activity?.newest === undefined) return undefined;
  const { requestId, began } = activity.newest;
  const requests = await host.runtime.requests(thread.runId);
  if (requests.find(({ request_id: id }) => id === requestId)?.started === began)
    return toSegmentPlace({ ...run, runId: requestId, own: requestId }, requestId, { type: "start" });
  const [id] = [...activity.answers].find(([, answer]) => answer.began === began) ?? [];
  const own = id?.replace(/_\d+$/, "") ?? `${requestId}_${began}`;
  const first = firstAnswer(own, activity)?.began ?? began;
  return toSegmentPlace({ ...run, runId: own, own }, requestId, { type: "event", id: first });
}

/** The place of a run in a request. */
export function toSegmentPlace(
  { agent, thread, runId, own }: ThreadRun,
  requestId: RequestId,
  begin: RunBegin,
): SegmentPlace {
  return { threadId: thread.name, runId, agent, thread: thread.runId ?? "", requestId, begin, own };
}

/** Cancels what a thread does, and what waits for its turn there. */
export async function cancelThread({ host, agent }: ThreadService, threadId: string): Promise<void> {
  const { runtime } = host;
  const { runId } = await findConversation(runtime, { wire: NAME, agent, name: threadId });
  if (runId === undefined) return;
  for (const { request_id, status } of await runtime.requests(runId))
    if (status !== "completed") await runtime.process(agent, { type: "CancelRequest", request_id });
}

/** The first of the answers that a run has given. */
function firstAnswer(own: string, activity: RunActivity | undefined): ResponseStart | undefined {
  const given = [...(activity?.answers ?? [])].filter(([id]) => isAnswerOf(own, id));
  return given.map(([, start]) => start).sort((one, other) => one.began - other.began)[0];
}
