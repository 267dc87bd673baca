import type { CallKind } from "../../client/view/run-view.ts";

/** The sign of a kind of call. */
export function kindSign(kind: CallKind): string {
  return SIGNS[kind];
}

/** The word for a kind of call. */
export function kindWord(kind: CallKind): string {
  return WORDS[kind];
}

const SIGNS: Readonly<Record<CallKind, string>> = {
  turn: "●",
  agent: "●",
  actor: "●",
  call: "○",
  tool: "○",
  model: "◇",
  effect: "□",
  remote: "⇄",
  wait: "?",
  sleep: "◌",
};

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
