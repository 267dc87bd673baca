import type { CallView, RunView } from "../../view/run-view.ts";

/** One step of two runs: the same call path in both. */
export interface ComparedStep {
  /** The path of the call; `turn 2` for a turn itself. */
  readonly path: string;
  /** 0 for a turn. */
  readonly level: number;
  readonly a: CallView | undefined;
  readonly b: CallView | undefined;
  /** Whether it went in or came out differently, or is in one run only. */
  readonly isDifferent: boolean;
}

/**
 * Compares two runs step by step. A call path is the position in the call tree, so equal paths are the same step, and
 * nothing has to be guessed.
 */
export function compareSteps(a: RunView, b: RunView): readonly ComparedStep[] {
  const steps: ComparedStep[] = [];
  const add = (path: string, level: number, ofA: CallView | undefined, ofB: CallView | undefined): void => {
    const isDifferent = ofA === undefined || ofB === undefined || toFacts(ofA, a) !== toFacts(ofB, b);
    steps.push({ path, level, a: ofA, b: ofB, isDifferent });
    const [inA, inB] = [childrenOf(ofA, a), childrenOf(ofB, b)];
    const paths = [...new Set([...inA.keys(), ...inB.keys()])].sort(byPath);
    for (const inner of paths) add(inner, level + 1, inA.get(inner), inB.get(inner));
  };
  const count = Math.max(a.turns.length, b.turns.length);
  for (let at = 0; at < count; at += 1) add(`turn ${at + 1}`, 0, turnOf(a, at), turnOf(b, at));
  return steps;
}

/**
 * The step in which two runs begin to differ: the first one whose input differs, or whose result does without a
 * different step inside of it.
 */
export function firstDifference(steps: readonly ComparedStep[]): ComparedStep | undefined {
  const at = steps.findIndex(({ isDifferent }) => isDifferent);
  const first = steps[at];
  if (first === undefined) return undefined;
  const { a, b, level } = first;
  const isSameInput = a !== undefined && b !== undefined && inputOf(a) === inputOf(b);
  if (!isSameInput) return first;
  const end = steps.findIndex((step, index) => index > at && step.level <= level);
  return firstDifference(steps.slice(at + 1, end === -1 ? undefined : end)) ?? first;
}

function turnOf({ turns, calls }: RunView, at: number): CallView | undefined {
  const turn = turns[at];
  return turn && calls.get(turn.root);
}

function childrenOf(call: CallView | undefined, { calls }: RunView): ReadonlyMap<string, CallView> {
  const children = (call?.children ?? []).flatMap((key) => calls.get(key) ?? []);
  // A call that was tried again has its path twice; the last attempt counts.
  return new Map(children.map((child) => [child.callId, child]));
}

/** What went into a call. */
function inputOf({ name, functionName, args }: CallView): string {
  return JSON.stringify([name, functionName, args]);
}

/** Everything that makes a call the same one, except its times and ids. */
function toFacts(call: CallView, { parts, waits }: RunView): string {
  const said = parts.flatMap((one) => (one.kind === "text" && one.actor === call.key ? [one.text] : []));
  const { outcome, errorCode, error, result, text } = call;
  const answer = call.kind === "wait" ? waits.find((wait) => wait.call === call.key)?.answer : undefined;
  return JSON.stringify([inputOf(call), outcome, errorCode, error, result, text, said.join(""), answer]);
}

/** Orders paths by their numbers: `c1.2` is before `c1.10`. */
function byPath(a: string, b: string): number {
  return PATHS.compare(a, b);
}

const PATHS = new Intl.Collator("en", { numeric: true });
