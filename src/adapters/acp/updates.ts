import type { SessionUpdate, ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Fields, Json } from "../../protocol/json.ts";
import { RunFold } from "../../view/fold.ts";
import { rootCall } from "../../view/run-view.ts";
import type { CallView, Change, FileView, RunView, TurnView, WaitView } from "../../view/run-view.ts";
import { unsaidOf } from "../../view/segment-fold.ts";
import { approvalKeyOf, toQuestion } from "../../view/to-answer.ts";
import { isEditorTool } from "./editor-tools.ts";
import { PLAN_TOOL, readPlan } from "./plan.ts";

/** How a wait is asked: the editor runs its tool, asks for a permission, or shows it as a text that the next prompt answers. */
export type WaitKind = "tool" | "permission" | "text";

/** How a wait is asked. */
export function kindOf(wait: WaitView): WaitKind {
  if (wait.question !== undefined) return "text";
  if (wait.tool !== undefined && isEditorTool(wait.tool.name)) return "tool";
  return approvalKeyOf(wait) === undefined ? "text" : "permission";
}

/** Shows the events of a run as updates of its session. Equal events give equal updates. */
export class UpdateProjection {
  readonly #fold = new RunFold();
  readonly #urlOf: (file: FileView) => string;

  /** @param urlOf The absolute address of a file. */
  constructor(urlOf: (file: FileView) => string) {
    this.#urlOf = urlOf;
  }

  /** The run after the newest event. */
  get view(): RunView {
    return this.#fold.view;
  }

  /**
   * Takes the next events. `isOwn` says whether the editor already shows what a request or an answer says. Pieces of a message that
   * follow each other become one, because each update costs as much as a long text.
   */
  take(events: readonly Event[], isOwn: (request: RequestId | number) => boolean): readonly SessionUpdate[] {
    const updates: SessionUpdate[] = [];
    for (const event of events)
      for (const change of this.#fold.take(event))
        for (const update of this.#updatesOf(change, isOwn)) append(updates, update);
    return updates;
  }

  #updatesOf(change: Change, isOwn: (request: RequestId | number) => boolean): readonly SessionUpdate[] {
    switch (change.type) {
      case "input":
        return isOwn(change.turn.requestId) ? [] : [said("user", toText(change.turn), change.turn.startedId)];
      case "text": {
        const { depth, kind, id } = change.part;
        if (depth > 0 || change.text === "") return [];
        return [said(kind === "text" ? "agent" : "thought", change.text, id)];
      }
      case "call":
        return isShown(change.call) ? [beginCall(change.call)] : [];
      case "progress":
        return isShown(change.call) && change.call.name !== PLAN_TOOL ? [reportCall(change.call)] : [];
      case "result":
        return isShown(change.call) && change.call.name !== PLAN_TOOL ? [endCall(change.call)] : [];
      case "wait":
        return this.#ask(change.wait);
      case "answer":
      case "expiry":
        return this.#close(change.wait, isOwn(change.wait.waitId));
      case "file":
        return change.part.file.isGenerated ? [this.#file(change.part.file)] : [];
      case "end": {
        const text = this.#unsaid(change.turn);
        return text === "" ? [] : [said("agent", text, change.turn.endedId)];
      }
      case "attempt":
      case "rest":
      case "received":
        return [];
      default: {
        const never: never = change;
        return never;
      }
    }
  }

  /** The id of the tool call that shows a wait: that of the call in which it is asked, else its own. */
  callIdOf(wait: WaitView): string {
    const { calls } = this.#fold.view;
    const own = calls.get(wait.call);
    if (wait.depth === 0 || own === undefined || kindOf(wait) === "permission") return wait.call;
    return rootCall(this.#fold.view, own).key;
  }

  #ask(wait: WaitView): readonly SessionUpdate[] {
    const kind = kindOf(wait);
    if (kind === "text") return [said("agent", `${toQuestion(wait)}\n`, wait.waitId)];
    const toolCallId = this.callIdOf(wait);
    const shown = { toolCallId, ...toWaitCall(wait) };
    return toolCallId === wait.call
      ? [{ sessionUpdate: "tool_call", ...shown }]
      : [{ sessionUpdate: "tool_call_update", ...shown }];
  }

  #close(wait: WaitView, isOwn: boolean): readonly SessionUpdate[] {
    const { answer, answeredId = wait.waitId } = wait;
    const kind = kindOf(wait);
    if (kind === "text") {
      const values = Object.values(answer ?? {});
      const [only, ...others] = values;
      const text = others.length === 0 && typeof only === "string" ? only : JSON.stringify(answer);
      return isOwn || answer === undefined ? [] : [said("user", text, answeredId)];
    }
    const toolCallId = this.callIdOf(wait);
    // The call in which it was asked goes on, and shows its own end.
    if (toolCallId !== wait.call) return [];
    const refused = answer === undefined || answer["is_error"] === true;
    const key = kind === "permission" ? approvalKeyOf(wait) : undefined;
    const failed = refused || (key !== undefined && answer[key] !== true);
    return [
      {
        sessionUpdate: "tool_call_update",
        toolCallId,
        status: failed ? "failed" : "completed",
        rawOutput: answer ?? "the question was not answered in time",
      },
    ];
  }

  #file(file: FileView): SessionUpdate {
    const { name, mimeType, sizeBytes: size, eventId } = file;
    const uri = this.#urlOf(file);
    return {
      sessionUpdate: "agent_message_chunk",
      messageId: String(eventId),
      content: { type: "resource_link", name, uri, mimeType, size },
    };
  }

  #unsaid(turn: TurnView): string {
    if (turn.outcome !== "success") return "";
    const { result = null, output } = turn;
    if (result === null && output !== undefined) return JSON.stringify(output);
    return unsaidOf(this.#fold.view, turn);
  }
}

/** Adds an update; a piece of the message of the one before is joined to it. */
function append(updates: SessionUpdate[], update: SessionUpdate): void {
  const before = updates.at(-1);
  const isNext =
    before !== undefined &&
    isPiece(before) &&
    isPiece(update) &&
    before.sessionUpdate === update.sessionUpdate &&
    before.messageId === update.messageId;
  if (!isNext) updates.push(update);
  else
    updates[updates.length - 1] = {
      ...before,
      content: { type: "text", text: before.content.text + update.content.text },
    };
}

/** A piece of the text of a message. */
type Piece = Extract<SessionUpdate, { readonly messageId?: unknown }> & {
  readonly content: { readonly type: "text"; readonly text: string };
};

function isPiece(update: SessionUpdate): update is Piece {
  return "messageId" in update && isObject(update.content) && update.content["type"] === "text";
}

/** A piece of a message. */
function said(who: "user" | "agent" | "thought", text: string, id: number | undefined): SessionUpdate {
  const content = { type: "text", text } as const;
  const sessionUpdate = who === "thought" ? "agent_thought_chunk" : (`${who}_message_chunk` as const);
  return { sessionUpdate, content, ...(id !== undefined && { messageId: String(id) }) };
}

function toText({ input }: TurnView): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

/** Whether a call is one of the agent itself that an editor shows. */
function isShown({ depth, kind }: CallView): boolean {
  return depth === 1 && !HIDDEN.has(kind);
}

const HIDDEN: ReadonlySet<CallView["kind"]> = new Set(["turn", "model", "wait", "sleep"]);

function beginCall(call: CallView): SessionUpdate {
  const { key, name, functionName = name, kind, args } = call;
  const plan = name === PLAN_TOOL ? readPlan(args) : undefined;
  if (plan !== undefined) return { sessionUpdate: "plan", ...plan };
  return {
    sessionUpdate: "tool_call",
    toolCallId: key,
    title: functionName,
    name: functionName,
    kind: kind === "agent" ? "think" : "other",
    status: "in_progress",
    ...(args !== undefined && { rawInput: args }),
    ...toPlaces(args),
  };
}

/** How much of the progress of a call is shown. */
const PROGRESS_LENGTH = 8_192;

function reportCall({ key, progress }: CallView): SessionUpdate {
  const content = [textOf(progress.slice(-PROGRESS_LENGTH))];
  return { sessionUpdate: "tool_call_update", toolCallId: key, status: "in_progress", content };
}

function endCall({ key, outcome, result, text, error }: CallView): SessionUpdate {
  const diffs = toDiffs(result);
  const shown = outcome === "success" ? (text ?? toShown(result)) : (error ?? "canceled");
  const content = diffs.length > 0 ? diffs : [textOf(shown)];
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: key,
    status: outcome === "success" ? "completed" : "failed",
    ...(diffs.length + shown.length > 0 && { content }),
    ...(result !== undefined && { rawOutput: result }),
    ...toPlaces(result),
  };
}

function toShown(result: Json | undefined): string {
  if (result === undefined || result === null) return "";
  return typeof result === "string" ? result : JSON.stringify(result);
}

function textOf(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

/** The file that a value names by `path` and `line`. Only absolute paths name one for an editor. */
function toPlaces(value: Json | undefined): { readonly locations?: ToolCallLocation[] } {
  if (!isObject(value)) return {};
  const { path, line } = value;
  if (typeof path !== "string" || !ABSOLUTE.test(path)) return {};
  const isLine = typeof line === "number" && Number.isInteger(line) && line >= 0;
  return { locations: [{ path, ...(isLine && { line }) }] };
}

const ABSOLUTE = /^(?:\/|[a-z]:[\\/])/i;

/** The changes of files that a result has as `diffs: [{ path, old_text, new_text }]`. */
function toDiffs(result: Json | undefined): ToolCallContent[] {
  const diffs = isObject(result) ? result["diffs"] : undefined;
  if (!Array.isArray(diffs)) return [];
  return diffs.filter(isObject).flatMap(({ path, old_text, new_text }: Fields) => {
    if (typeof path !== "string" || !ABSOLUTE.test(path) || typeof new_text !== "string") return [];
    return [
      {
        type: "diff" as const,
        path,
        newText: new_text,
        ...(typeof old_text === "string" && { oldText: old_text }),
      },
    ];
  });
}

/** What a wait looks like as a tool call, while it is open. */
export function toWaitCall(wait: WaitView): {
  readonly title: string;
  readonly kind: ToolKind;
  readonly status: "pending" | "in_progress";
  readonly rawInput?: unknown;
  readonly content?: ToolCallContent[];
  readonly locations?: ToolCallLocation[];
} {
  const { tool, approval } = wait;
  if (tool === undefined || !isEditorTool(tool.name)) {
    return {
      title: toQuestion(wait),
      kind: "other",
      status: "pending",
      ...(approval !== undefined && { rawInput: approval }),
    };
  }
  const { name, args } = tool;
  const { path, content, command, args: words } = isObject(args) ? args : ({} as Fields);
  const shown = { status: "in_progress", rawInput: args, ...toPlaces(args) } as const;
  if (name === "run_command") {
    const list: readonly unknown[] = Array.isArray(words) ? words : [];
    const line = [command, ...list].map(String).join(" ");
    return { ...shown, title: line, kind: "execute" };
  }
  if (name === "read_text_file") return { ...shown, title: `Read ${String(path)}`, kind: "read" };
  const isDiff = typeof content === "string" && typeof path === "string" && ABSOLUTE.test(path);
  return {
    ...shown,
    title: `Write ${String(path)}`,
    kind: "edit",
    ...(isDiff && { content: [{ type: "diff", path, newText: content }] }),
  };
}
