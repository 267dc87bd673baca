import type { CallKind } from "./run-view.ts";

/** The sign of each kind of call, in texts and pictures. */
export const callSigns: Readonly<Record<CallKind, string>> = {
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
