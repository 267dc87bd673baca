import type { CallKind, CallView } from "../../view/run-view.ts";

/** The word for a kind of call. */
export function kindWord(kind: CallKind): string {
  return WORDS[kind];
}

/** What a call is called: the agent and its operation for a turn, else the caller's name for it. */
export function nameOfCall({ kind, name, functionName }: CallView): string {
  return kind === "turn" ? `${name}.${functionName ?? "chat"}` : (functionName ?? name);
}

const WORDS: Readonly<Record<CallKind, string>> = {
  turn: "agent",
  agent: "agent",
  actor: "actor in another run",
  call: "call",
  tool: "tool",
  model: "model",
  effect: "effect",
  remote: "agent on another server",
  wait: "question",
  sleep: "sleep",
};
