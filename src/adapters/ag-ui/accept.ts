import { AgentError } from "../../errors.ts";
import { checkFileCount, storeFiles } from "../../http/messages/inline-file.ts";
import { checkNative, checkSameText } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { ChatRequest } from "../../protocol/requests/requests.ts";
import { giveAnswers, readAnswers } from "./answers.ts";
import { readUserTurn, textIn, toSaidBefore } from "./input.ts";
import type { MessageInInput, RunInput } from "./input.ts";
import { toWireId } from "./place.ts";
import type { SegmentPlace } from "./place.ts";
import { findBegun, findNewest, openThread, toSegmentPlace } from "./thread.ts";
import type { ThreadRun, ThreadService } from "./thread.ts";

/** Takes what is new in the messages of a client: texts begin a turn, results of its tools and `resume` answer questions. */
export async function acceptInput(
  service: ThreadService,
  input: RunInput,
  artifacts: string,
): Promise<SegmentPlace> {
  const run = await openThread(service, input);
  const { agent, thread, activity } = run;
  const again = await findBegun(run);
  const texts = await newTexts(run, input);
  if (again?.begin.type === "start") {
    const { requestId, thread: runId } = again;
    const request = { kind: "request", agent, runId, requestId } as const;
    // A client that has seen a part of the run has nothing new behind it.
    if (texts.length > 0)
      await checkSameText(service.host.runtime, request, readUserTurn(input, texts, artifacts).text);
    return { ...again, ...toBefore(again, input) };
  }
  const answers = readAnswers(run, input);
  if (answers.length > 0) {
    const place = await giveAnswers(run, answers, again);
    if (place !== undefined) return { ...place, ...toBefore(place, input) };
  }
  const open = (activity?.waits ?? []).map(({ requestId, waitId }) => toWireId(requestId, waitId));
  if (open.length > 0) {
    throw new AgentError("conflict", `the thread ${thread.name} has open interrupts: ${open.join(", ")}`, {
      hint: "answer them in resume, and calls of tools of the client by tool messages",
      facts: { interrupts: open },
    });
  }
  // Questions that have ended without an answer are given up, and the agent has gone on.
  const next = texts.length === 0 && answers.length > 0 ? await findNewest(run) : undefined;
  return next === undefined ? startTurn(run, input, texts, artifacts) : { ...next, runId: run.runId };
}

/** The messages of a client that are not of a run, if it has some of the run. */
function toBefore({ requestId, begin }: SegmentPlace, { messages }: RunInput): Pick<SegmentPlace, "before"> {
  const first = begin.type === "event" ? begin.id : 0;
  const isOwn = ({ id }: MessageInInput): boolean =>
    typeof id === "string" &&
    id.startsWith(`${requestId}~`) &&
    Number(id.slice(requestId.length + 1)) >= first;
  if (!messages.some(isOwn)) return {};
  // A client keeps reasoning that is left out, so that it is emptied.
  const before = messages.flatMap((message) =>
    isOwn(message) ? (message.role === "reasoning" ? [{ ...message, content: "" }] : []) : [message],
  );
  return { before };
}

/** The indexes of the new messages of the user. */
async function newTexts(
  { host, agent, thread, activity }: ThreadRun,
  { messages, known }: RunInput,
): Promise<readonly number[]> {
  const users = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
  // In a new thread the newest message is the one to answer, and those before it were said before.
  if (thread.runId === undefined) return users.slice(-1);
  const added = users.filter((index) => index >= known);
  const newest = activity?.newest;
  if (added.length < 2 || newest === undefined) return added;
  // A turn that said nothing has left its message behind the newest one of the agent.
  const address = { kind: "request", agent, runId: thread.runId, requestId: newest.requestId } as const;
  const [first = "{}"] = (await host.runtime.read(address, { after: 0, limit: 1 })).events;
  const { input } = JSON.parse(first) as Partial<Event & { readonly type: "RequestStarted" }>;
  return added.slice(
    added.slice(0, -1).findLastIndex((index) => textIn(messages[index]?.content) === input) + 1,
  );
}

/** Starts a turn, in the run of the thread or in a new one. */
async function startTurn(
  run: ThreadRun,
  input: RunInput,
  texts: readonly number[],
  artifacts: string,
): Promise<SegmentPlace> {
  const { host, agent, thread, own } = run;
  const { runtime, fileLimitBytes } = host;
  const [first] = texts;
  if (first === undefined) throw wrongField("messages", "must end with a new message of the user");
  const { text, files, attachments, rest } = readUserTurn(input, texts, artifacts);
  checkFileCount(attachments.length + files.length, "messages");
  // The log has what was said in a thread that exists.
  const earlier = thread.runId === undefined ? toSaidBefore(input.messages.slice(0, first)) : [];
  // An agent that takes no tools of its clients may read them.
  const takesTools = runtime.describe(agent).client_tools === true;
  const { tools } = input;
  const request = checkNative({
    type: "ChatRequest",
    input: text,
    request_id: own,
    request_metadata: {
      ...input.metadata,
      ...(tools.length > 0 && !takesTools && { tools }),
      ...(rest.length > 0 && { content: rest }),
      ...(earlier.length > 0 && { messages: earlier }),
    },
    // A client of this protocol waits for the end of each run.
    on_busy: "enqueue",
    ...(thread.key === undefined ? { run_id: thread.runId } : { key: thread.key }),
    ...(tools.length > 0 && takesTools && { tools }),
  } as ChatRequest) as ChatRequest;
  const ids = [...attachments, ...(await storeFiles(runtime, files, fileLimitBytes))];
  const { requestId, runId } = await runtime.process(agent, {
    ...request,
    ...(ids.length > 0 && { attachments: ids }),
  });
  return { ...toSegmentPlace(run, requestId, { type: "start" }), thread: runId ?? "" };
}
