import type { Event } from "../protocol/events/events.ts";
import { endSleeps, noTimes } from "./call-tree.ts";
import {
  addProgress,
  beginSleep,
  beginModelCall,
  beginToolCall,
  endModel,
  endTool,
  failTool,
  learnKind,
  momentOf,
  restModel,
} from "./calls.ts";
import { ViewDraft } from "./draft.ts";
import type { SentEventOf, SentEvent, SentFields } from "./event.ts";
import { addFile, addText, changeState, receive } from "./parts.ts";
import type { Change, RunView } from "./run-view.ts";
import {
  cleanTurn,
  beginTurn,
  createRun,
  endTurn,
  holdTurn,
  isOfUnknownTurn,
  renewRun,
  noteCancel,
  noteStop,
  restartTurn,
  applyStart,
} from "./turns.ts";
import { applyAnswer, beginWait, applyExpiry } from "./waits.ts";

/**
 * The state of a run after some of its events, in the order of the log. `from` is the view of the events before them:
 * `project([...a, ...b])` equals `project(b, project(a))`. Events of an unknown type change only `head`.
 */
export function project(events: readonly Event[], from: RunView = emptyView): RunView {
  if (events.length === 0) return from;
  const fold = new RunFold(from);
  for (const event of events) fold.add(event);
  return fold.view;
}

/**
 * Folds the events of a run into its view, one at a time. An event costs the same in a small and in a large view, and
 * nothing is copied: the view changes in place. The view that the fold continues stays as it was.
 */
export class RunFold {
  readonly #draft: ViewDraft;

  constructor(from: RunView = emptyView) {
    this.#draft = new ViewDraft(from);
  }

  /** The view after the newest event. It changes with the next one. */
  get view(): RunView {
    return this.#draft.view;
  }

  /** Adds the next event of the log, and returns what it has changed. */
  take(event: Event): readonly Change[] {
    const changes: Change[] = [];
    this.#draft.changes = changes;
    this.add(event);
    this.#draft.changes = undefined;
    return changes;
  }

  /** Adds the next event of the log. */
  add(event: Event): void {
    const draft = this.#draft;
    const sent = event as SentEvent;
    draft.view.head = sent.id;
    draft.view.runId ||= sent.run_id ?? "";
    if (!Object.hasOwn(FOLDS, sent.type)) return;
    const apply = FOLDS[sent.type as keyof SentFields];
    if (isOfUnknownTurn(draft, sent) && sent.type !== "RequestStarted")
      beginTurn(draft, { ...sent, type: "RequestStarted" }, sent.request_id);
    if (sent.request_id) endSleeps(draft, sent.request_id, momentOf(sent));
    learnKind(draft, sent);
    apply(draft, sent);
  }
}

/** The view of a run without events. */
const emptyView: RunView = {
  runId: "",
  agent: "",
  head: 0,
  status: "idle",
  turns: [],
  parts: [],
  calls: new Map(),
  waits: [],
  machines: new Map(),
  files: [],
  usage: {},
  times: noTimes,
  speaking: new Map(),
};

const FOLDS: { readonly [Type in keyof SentFields]: (draft: ViewDraft, event: SentEventOf<Type>) => void } = {
  RunCreated: createRun,
  Renewed: renewRun,
  RequestStarted: applyStart,
  RequestCompleted: endTurn,
  TextOutput: (draft, event) => addText("text", draft, event),
  ReasoningOutput: (draft, event) => addText("reasoning", draft, event),
  ToolCall: beginToolCall,
  ToolTextOutput: addProgress,
  ToolResult: endTool,
  ToolError: failTool,
  CompletionCall: beginModelCall,
  CompletionRetry: restModel,
  CompletionResult: endModel,
  WaitForInput: beginWait,
  ResumeWithInput: applyAnswer,
  WaitExpired: applyExpiry,
  ArtifactGenerated: addFile,
  ArtifactUploaded: addFile,
  RequestHeld: holdTurn,
  RequestContinued: holdTurn,
  CancelRequest: noteCancel,
  RequestCanceling: cleanTurn,
  RequestRestarted: restartTurn,
  ActorStopped: noteStop,
  ActorResumed: noteStop,
  Sleeping: beginSleep,
  StateChanged: changeState,
  MessageReceived: receive,
};
