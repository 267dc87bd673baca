import type { History } from "../../laws/history.ts";
import type { RemoteRequest, RemoteServer } from "../remote/server.ts";
import type { Plan } from "../plan.ts";
import type { Observer } from "./observer.ts";

/** The inspected data of a remote server. */
export interface RemoteChecks {
  readonly observer: Observer;
  readonly remoteServer: RemoteServer;
  readonly plan: Plan;
  readonly shared: { readonly given: ReadonlyMap<string, { readonly files?: readonly string[] }> };
}

/** Checks that a remote server and the log agree on answers, cancels and files. */
export function verifyRemote({ observer, remoteServer, plan, shared }: RemoteChecks): void {
  if (remoteServer.requests.size === 0) return;
  const calls = new Map<number, Place>();
  for (const requestId of observer.requests.keys()) {
    const history = observer.history(requestId);
    const [started] = history.events;
    if (started?.type === "RequestStarted" && started.agent === "remote")
      calls.set(programIn(started.input), { requestId, history, callId: history.root });
    for (const [callId, { name, args }] of history.calls)
      if (name === "remote.perform") calls.set(programIn(args), { requestId, history, callId });
  }
  for (const far of remoteServer.requests.values()) {
    const place = calls.get(far.program);
    const say = (what: string): void => observer.say(`remote part ${far.program}: ${what}`);
    if (place === undefined) {
      say("no local turn requested it");
      continue;
    }
    verifyAnswers(far, place, say);
    const { requestId, history, callId } = place;
    const isOver = history.outcomes.has(callId) || observer.requests.get(requestId)?.end !== undefined;
    // If a process dies, or a message is lost too often, the remote server is not informed of the cancel.
    const isCalm = plan.faults.length === 0 && plan.lossPercent === 0;
    if (isOver && isCalm && far.status !== "completed") say("it was not informed of the cancel");
    const files = callId === history.root ? (shared.given.get(requestId)?.files ?? []) : [];
    const sent = far.attachments.map((id) => remoteServer.files.get(id));
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
  { answers }: RemoteRequest,
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
