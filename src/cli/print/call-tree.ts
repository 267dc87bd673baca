import { callSigns } from "../../view/call-signs.ts";
import type { CallView, RunView, WaitView } from "../../view/run-view.ts";
import { fit, styled, toDuration, toLine } from "./text.ts";
import type { Output } from "./text.ts";

/** Prints the calls of a run as a tree, one line each. */
export function printTree(output: Output, view: RunView): void {
  for (const turn of view.turns) {
    const root = view.calls.get(turn.root);
    if (root !== undefined) printCall(output, view, root, "", "");
  }
}

function printCall(output: Output, view: RunView, call: CallView, lead: string, below: string): void {
  const wait = view.waits.find(({ call: key }) => key === call.key);
  const line = fit(output, `${lead}${callSigns[call.kind]} ${toName(call, wait)}  ${toState(call, wait)}`);
  output.write(`${call.outcome === "error" ? styled(output, "red", line) : line}\n`);
  const children = call.children.flatMap((key) => view.calls.get(key) ?? []);
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1;
    printCall(output, view, child, `${below}${isLast ? "└ " : "├ "}`, `${below}${isLast ? "  " : "│ "}`);
  }
}

function toName({ kind, functionName, name, args }: CallView, wait: WaitView | undefined): string {
  if (wait) return toLine(Object.values(wait.questions).join(" · "));
  if (kind === "turn" && functionName !== undefined)
    return toLine(`${name}.${functionName} ${JSON.stringify(args)}`);
  const given = args === undefined ? "" : ` ${JSON.stringify(args)}`;
  return toLine(`${functionName ?? name}${given}`);
}

function toState(call: CallView, wait: WaitView | undefined): string {
  const { outcome, errorCode, startedAt, endedAt, attempt } = call;
  const state = wait?.state ?? (outcome === undefined ? "open" : (errorCode ?? outcome));
  const times = endedAt === undefined ? "" : `  ${toDuration(Date.parse(endedAt) - Date.parse(startedAt))}`;
  return `${state}${times}${attempt > 1 ? `  attempt ${attempt}` : ""}`;
}
