import type { CallView, RunView } from "../../view/run-view.ts";

/** A message between two actors, as the sequence shows it. */
export interface SequenceMessage {
  /** The event in which it was sent. */
  readonly id: number;
  /** The positions of the lifelines. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** The path of the call that it belongs to; empty for a turn. */
  readonly call: string;
  readonly kind: "call" | "result" | "failed" | "question" | "answer";
}

/** Who talks to whom in a run: a lifeline per name, and the messages in their order. */
export interface SequenceDiagram {
  readonly names: readonly string[];
  readonly messages: readonly SequenceMessage[];
}

/** The messages of a run. All calls of one agent, tool or model share a lifeline. */
export function toSequenceDiagram({ calls, waits }: RunView): SequenceDiagram {
  const names = ["You"];
  const lineOf = (name: string): number => {
    const at = names.indexOf(name);
    return at === -1 ? names.push(name) - 1 : at;
  };
  const messages: SequenceMessage[] = [];
  for (const call of [...calls.values()].sort((a, b) => a.startedId - b.startedId)) {
    if (call.kind === "sleep") continue;
    if (call.kind === "wait") {
      const wait = waits.find((one) => one.call === call.key);
      if (wait === undefined) continue;
      const asker = lineOf(wait.agent);
      const of = { call: call.callId } as const;
      const text = Object.values(wait.questions).join(" · ");
      messages.push({ ...of, id: wait.waitId, from: asker, to: 0, text, kind: "question" });
      if (wait.answeredId === undefined) continue;
      const answer = JSON.stringify(wait.answer ?? {});
      messages.push({ ...of, id: wait.answeredId, from: 0, to: asker, text: answer, kind: "answer" });
      continue;
    }
    const from = call.kind === "turn" ? 0 : lineOf(call.caller);
    const to = lineOf(call.name);
    messages.push({ id: call.startedId, from, to, text: toCallText(call), call: call.callId, kind: "call" });
    if (call.endedId === undefined) continue;
    const kind = call.outcome === "success" ? "result" : "failed";
    messages.push({ id: call.endedId, from: to, to: from, text: toEndText(call), call: call.callId, kind });
  }
  // What ends and begins in one event keeps the order in which it was found.
  return { names, messages: messages.sort((a, b) => a.id - b.id) };
}

function toCallText({ kind, functionName, name, args }: CallView): string {
  if (kind === "model") return "completion";
  return `${functionName ?? name} ${typeof args === "string" ? args : (JSON.stringify(args) ?? "")}`.slice(
    0,
    MOST,
  );
}

function toEndText({ outcome, errorCode, result, text }: CallView): string {
  if (outcome !== "success") return errorCode ?? outcome ?? "";
  return (result === undefined || result === null ? (text ?? "done") : JSON.stringify(result)).slice(0, MOST);
}

const MOST = 120;
