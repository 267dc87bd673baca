import type { Event } from "../protocol/events/events.ts";
import {
  addProgress,
  beginSleep,
  callModel,
  callTool,
  endModel,
  endTool,
  failTool,
  learnKind,
  momentOf,
} from "./calls.ts";
import type { Sent, SentEvent, SentFields } from "./event.ts";
import { Fold } from "./fold.ts";
import { endSleeps, noTimes } from "./open-calls.ts";
import { addFile, changeState, receive } from "./others.ts";
import type { RunView } from "./run-view.ts";
import { addText } from "./texts.ts";
import { beginTurn, createRun, endTurn, isOfUnknownTurn, renewRun, startTurn } from "./turns.ts";
import { answerWait, beginWait, expireWait } from "./waits.ts";

/**
 * The state of a run after some of its events, in the order of the log. `from` is the view of the events before them:
 * `project([...a, ...b])` equals `project(b, project(a))`. Events of an unknown type change only `head`.
 */
export function project(events: readonly Event[], from: RunView = emptyView): RunView {
  if (events.length === 0) return from;
  const fold = new Fold(from);
  for (const event of events as readonly SentEvent[]) {
    fold.view.head = event.id;
    fold.view.runId ||= event.run_id ?? "";
    const apply = FOLDS[event.type as keyof SentFields] as
      | ((fold: Fold, event: SentEvent) => void)
      | undefined;
    if (apply === undefined) continue;
    if (isOfUnknownTurn(fold, event) && event.type !== "RequestStarted")
      beginTurn(fold, { ...event, type: "RequestStarted" }, event.request_id);
    if (event.request_id) endSleeps(fold, event.request_id, momentOf(event));
    learnKind(fold, event);
    apply(fold, event);
  }
  return toStatus(fold.view);
}

/** The view of a run without events. */
const emptyView: RunView = {
  runId: "",
  agent: "",
  head: 0,
  status: "idle",
  turns: [],
  messages: [],
  calls: new Map(),
  waits: [],
  machines: new Map(),
  files: [],
  usage: {},
  times: noTimes,
  speaking: new Map(),
};

const FOLDS: { readonly [Type in keyof SentFields]: (fold: Fold, event: Sent<Type>) => void } = {
  RunCreated: createRun,
  Renewed: renewRun,
  RequestStarted: startTurn,
  RequestCompleted: endTurn,
  TextOutput: (fold, event) => addText("text", fold, event),
  ReasoningOutput: (fold, event) => addText("reasoning", fold, event),
  ToolCall: callTool,
  ToolTextOutput: addProgress,
  ToolResult: endTool,
  ToolError: failTool,
  CompletionCall: callModel,
  CompletionResult: endModel,
  WaitForInput: beginWait,
  ResumeWithInput: answerWait,
  WaitExpired: expireWait,
  ArtifactGenerated: addFile,
  ArtifactUploaded: addFile,
  Sleeping: beginSleep,
  StateChanged: changeState,
  MessageReceived: receive,
};

function toStatus(view: RunView): RunView {
  const open = view.turns.findLast(({ phase }) => phase !== "ended");
  const status = open === undefined ? "idle" : open.phase === "waiting" ? "waiting" : "running";
  return status === view.status ? view : { ...view, status };
}
