import { AgentError } from "../../errors.ts";
import { checkNative } from "../../http/messages/native-request.ts";
import { depthOf } from "../../protocol/events/encode.ts";
import type { Event, EventOf } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import { isTextAnswer, messageIdOf } from "../../view/ui/names.ts";
import { findTurnAgain } from "../../view/ui/past-turns.ts";
import type { UiRequest } from "./body.ts";
import { cancelChat } from "./chat.ts";
import type { ChatRun, ChatService, MessagePlace } from "./chat.ts";

/** A turn of a chat that is done again. */
interface PastTurn {
  readonly started: EventOf<"RequestStarted">;
  /** The end of the turn before it; 0 for the first turn. */
  readonly after: number;
  /** The messages that it and its text answers have begun. */
  readonly messageIds: string[];
}

/**
 * Leaves a turn, and those after it, in a run that the chat then has no more, and goes on in a fork of what was before. What the left
 * run still does is canceled.
 */
export async function leaveTurn(service: ChatService, chat: ChatRun, { after }: PastTurn): Promise<ChatRun> {
  const { runtime } = service.host;
  const { runId } = chat;
  if (runId === undefined || chat.key === undefined) {
    throw new AgentError("conflict", "a chat that was opened by the id of a run has no other versions", {
      hint: "fork the run, and open the fork",
    });
  }
  await cancelChat(service, chat);
  return { ...chat, runId: await runtime.fork(runId, { after }, { takesKey: true }) };
}

/** Does a turn again, in a fork of the run, with the request that the log has. */
export async function repeatTurn(
  service: ChatService,
  chat: ChatRun,
  turn: PastTurn,
  { tools, metadata }: UiRequest,
): Promise<MessagePlace> {
  const { operation, input, attachments = [] } = turn.started;
  const next = await leaveTurn(service, chat, turn);
  const isChat = operation === "chat";
  const request = checkNative({
    ...(isChat ? { type: "ChatRequest", input } : { type: "OperationRequest", operation, input }),
    run_id: next.runId,
    request_metadata: metadata,
    ...(tools !== undefined && { tools }),
    ...(attachments.length > 0 && { attachments }),
  } as TurnRequest);
  const { requestId, runId } = await service.host.runtime.process(service.agent, request);
  return { runId: runId ?? "", requestId, messageId: messageIdOf(requestId), after: 0 };
}

/**
 * The turn that the page wants to have again: that of the message that it names, otherwise the first one of which it has left a
 * message out; undefined if the page has all.
 */
export async function findAgain(
  service: ChatService,
  { runId }: ChatRun,
  { messages, messageId }: UiRequest,
): Promise<PastTurn | undefined> {
  if (runId === undefined) return undefined;
  return findTurnAgain(await readTurns(service, runId), { messages, messageId });
}

/** The turns of a run, oldest first. */
async function readTurns({ host, agent }: ChatService, runId: RunId): Promise<readonly PastTurn[]> {
  const turns = new Map<RequestId, PastTurn>();
  let end = 0;
  for (let after = 0, more = true; more;) {
    const address = { kind: "run", runId, agent } as const;
    const page = await host.runtime.read(address, { after, filter: { types: ["RequestStarted"] } });
    for (const text of page.events) {
      if (depthOf(text) > 0) continue;
      const event = JSON.parse(text) as Event;
      if (event.type === "RequestStarted")
        turns.set(event.request_id, {
          started: event,
          after: end,
          messageIds: [messageIdOf(event.request_id)],
        });
      else if (event.type === "RequestCompleted") end = event.id;
      else if (event.type === "ResumeWithInput" && isTextAnswer(event.resume_id))
        turns.get(event.request_id)?.messageIds.push(messageIdOf(event.request_id, event.id));
    }
    after = page.cursor;
    more = page.more;
  }
  return [...turns.values()];
}
