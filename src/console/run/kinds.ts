import type { CallKind } from "../../client/view/run-view.ts";

/** The word for a kind of call. */
export function kindWord(kind: CallKind): string {
  return WORDS[kind];
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
