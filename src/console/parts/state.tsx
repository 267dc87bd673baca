import type { VNode } from "preact";

/** A state of a run, turn, call or request, as the page shows it: always a sign and a word. */
export type StateName =
  | "running"
  | "waiting"
  | "sleeping"
  | "held"
  | "queued"
  | "done"
  | "failed"
  | "canceled";

interface StateProps {
  readonly name: StateName;
  /** A word instead of the usual one, for example the code of an error. */
  readonly word?: string | undefined;
}

export function State({ name, word = WORDS[name] }: StateProps): VNode {
  return (
    <span class={`state ${name}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[name]}
      </span>
      <span class="one-line">{word}</span>
    </span>
  );
}

export const SIGNS: Readonly<Record<StateName, string>> = {
  running: "▸",
  waiting: "?",
  sleeping: "◌",
  held: "‖",
  queued: "⋯",
  done: "✓",
  failed: "✕",
  canceled: "⊘",
};

const WORDS: Readonly<Record<StateName, string>> = {
  running: "running",
  waiting: "waiting for you",
  sleeping: "sleeping",
  held: "held",
  queued: "queued",
  done: "done",
  failed: "failed",
  canceled: "canceled",
};
