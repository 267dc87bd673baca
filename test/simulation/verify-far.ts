import type { History } from "../laws/history.ts";
import type { FarRequest, FarSide } from "./far-side.ts";
import type { Plan } from "./plan.ts";
import type { Witness } from "./witness.ts";

/** The inspected data of a remote server. */
export interface FarRest {
  readonly witness: Witness;
  readonly farSide: FarSide;
  readonly plan: Plan;
  readonly shared: { readonly given: ReadonlyMap<string, { readonly files?: readonly string[] }> };
}

/** Checks that a remote server and the log agree on answers, cancels and files. */
export function verifyFar({ witness, farSide, plan, shared }: FarRest): void {
  if (farSide.requests.size === 0) return;
  const calls = new Map<number, Place>();
  for (const requestId of witness.requests.keys()) {
    const history = witness.history(requestId);
    const [started] = history.events;
    if (started?.type === "RequestStarted" && started.agent === "remote")
      calls.set(programIn(started.input), { requestId, history, callId: history.root });
    for (const [callId, { name, args }] of history.calls)
      if (name === "remote.perform") calls.set(programIn(args), { requestId, history, callId });
  }
  for (const far of farSide.requests.values()) {
    const place = calls.get(far.program);
    const say = (what: string): void => witness.say(`part ${far.program} elsewhere: ${what}`);
    if (place === undefined) {
      say("nobody here has asked for it");
      continue;
    }
    verifyAnswers(far, place, say);
    const { requestId, history, callId } = place;
    const isOver = history.outcomes.has(callId) || witness.requests.get(requestId)?.end !== undefined;
    // If a process dies, or a message is lost too often, the remote server is not informed of the cancel.
    const isCalm = plan.faults.length === 0 && plan.lossPercent === 0;
    if (isOver && isCalm && far.status !== "completed")
      say("nobody has told it that it is not wanted any more");
    const files = callId === history.root ? (shared.given.get(requestId)?.files ?? []) : [];
    const sent = far.attachments.map((id) => farSide.files.get(id));
    if (JSON.stringify(sent) !== JSON.stringify(files)) say(`was given ${JSON.stringify(sent)}`);
  }
}

/** The place of a remote call. */
interface Place {
  readonly requestId: string;
  readonly history: History;
  readonly callId: string;
}

function verifyAnswers(
  { answers }: FarRequest,
  { history, callId }: Place,
  say: (what: string) => void,
): void {
  for (const [waitCallId, [, key]] of history.waits) {
    if (!waitCallId.startsWith(`${callId}.`)) continue;
    const here = history.outcomes.get(waitCallId);
    const there = answers.get(key);
    if (here?.ok !== true) continue;
    if (JSON.stringify(here.value) !== JSON.stringify(there))
      say(`was answered with ${JSON.stringify(there)}, and the log has ${JSON.stringify(here.value)}`);
  }
}

function programIn(args: unknown): number {
  return (args as { readonly program: number }).program;
}
