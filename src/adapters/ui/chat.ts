import type { Host } from "../../http/routes/host.ts";
import { typeOf } from "../../protocol/events/encode.ts";
import type { EventType } from "../../protocol/events/event-body.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { findConversation } from "../../view/conversation.ts";
import { toPlacedQuestion } from "../../view/wait-answers.ts";
import type { PlacedQuestion } from "../../view/wait-answers.ts";
import { newestMessage } from "../../view/ui/message-reader.ts";
import type { MessagePart, QuestionEvent } from "../../view/ui/message-reader.ts";

/** An agent, and what its routes work with. */
export interface ChatService {
  readonly host: Host;
  readonly agent: string;
}

/** A chat of a page: a run of the agent, found by its key. The id of a chat can also be that of a run of another wire. */
export interface ChatRun {
  readonly id: string;
  /** Absent for a run that was found by its id. */
  readonly key?: string;
  /** Absent before the first message. */
  readonly runId?: RunId;
}

/** A message of the assistant: of a request, from one of its events on. */
export interface MessagePlace extends MessagePart {
  readonly runId: RunId;
  readonly requestId: RequestId;
}

/** Finds the run of a chat. Creates nothing. */
export async function findChat({ host, agent }: ChatService, id: string): Promise<ChatRun> {
  const { name, ...found } = await findConversation(host.runtime, { wire: "ui", agent, name: id });
  return { id: name, ...found };
}

/** The open questions of a chat, oldest first. */
export async function openQuestions(
  { host }: ChatService,
  { runId }: ChatRun,
): Promise<readonly PlacedQuestion[]> {
  if (runId === undefined) return [];
  const { events } = await host.runtime.waits({ runId, limit: QUESTIONS });
  return events.map((text) => toPlacedQuestion(JSON.parse(text) as EventOf<"WaitForInput">));
}

/** How many questions of a run are read. */
const QUESTIONS = 100;

/** The newest message of the request of a chat that works or waits; undefined if there is none. */
export async function openMessage(
  service: ChatService,
  { runId }: ChatRun,
): Promise<MessagePlace | undefined> {
  if (runId === undefined) return undefined;
  const open = (await service.host.runtime.requests(runId)).filter(({ status }) => status !== "completed");
  // The one that has started is the oldest.
  const requestId = open.at(-1)?.request_id;
  if (requestId === undefined) return undefined;
  const messageId = newestMessage(requestId, await readQuestions(service, runId, requestId));
  return { runId, requestId, messageId, after: 0 };
}

/** The questions of a request with their answers and ends, in order. */
export async function readQuestions(
  { host, agent }: ChatService,
  runId: RunId,
  requestId: RequestId,
): Promise<readonly QuestionEvent[]> {
  const events: QuestionEvent[] = [];
  const filter = { types: QUESTION_TYPES };
  for (let after = 0, more = true; more;) {
    const address = { kind: "request", runId, requestId, agent } as const;
    const page = await host.runtime.read(address, { after, filter });
    for (const text of page.events)
      if (QUESTION_TYPES.includes(typeOf(text))) events.push(JSON.parse(text) as QuestionEvent);
    after = page.cursor;
    more = page.more;
  }
  return events;
}

const QUESTION_TYPES: readonly EventType[] = ["WaitForInput", "ResumeWithInput", "WaitExpired"];

/** Cancels what a chat does, and what waits for its turn there. */
export async function cancelChat({ host, agent }: ChatService, { runId }: ChatRun): Promise<void> {
  if (runId === undefined) return;
  const { runtime } = host;
  for (const { request_id, status } of await runtime.requests(runId))
    if (status !== "completed") await runtime.process(agent, { type: "CancelRequest", request_id });
}
