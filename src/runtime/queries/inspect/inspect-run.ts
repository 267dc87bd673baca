import type { EventLog } from "../../../ports/event-log.ts";
import type { RunEntry } from "../../../ports/log-entries.ts";
import type { Event } from "../../../protocol/events/events.ts";
import { toEncoded } from "../../../protocol/events/texts.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import { CHAT } from "../../agent/agent.ts";
import type { InspectedMachine, InspectedRequest, InspectedRun } from "../../inspection.ts";
import { isRoot } from "../../journal/call-id.ts";
import type { AcceptedRequest } from "../../journal/records.ts";
import { hideSecrets } from "../../secrets/hidden.ts";
import { readRunAt } from "./run-at.ts";
import type { KnownMachine } from "./run-at.ts";

/** The state of a run as of an event. */
export async function inspectRun(
  log: EventLog,
  run: RunEntry,
  { at: asked = Infinity, isInMemory }: { readonly at: number | undefined; readonly isInMemory: boolean },
): Promise<InspectedRun> {
  const { runId, agent, head } = run;
  const at = Math.min(asked, head);
  const origin = await originOf(log, run, at);
  const { state, machines, marks } = await readRunAt(log, origin ?? runId, {
    at,
    isNewest: origin === undefined && at === head,
  });
  const { turns, memory, config, open, unread = [] } = state;
  return {
    run_id: runId,
    agent,
    at,
    turns,
    memory: hideSecrets(memory) as JsonObject,
    machines: [...machines].map(([scope, machine]) => toMachine(scope, machine)),
    config: config && { version: config.version, args: hideSecrets(config.args) as JsonObject },
    queued: open.filter(({ turn }) => turn === undefined).map(({ accepted }) => toQueued(accepted)),
    unread: unread.map(({ id, name }) => ({ id, name })),
    in_memory: isInMemory,
    marks,
  };
}

/**
 * The run that an event was copied from. A fork has the events of the other run, but of what its agents remembered only
 * the last state. A removed run is not found.
 */
async function originOf(log: EventLog, { runId, head }: RunEntry, at: number): Promise<RunId | undefined> {
  if (at === 0 || at === head) return undefined;
  for (let id = runId; ;) {
    const [text] = toEncoded((await log.read(id, { after: at - 1, limit: 1 })).events);
    const from = text === undefined ? undefined : (JSON.parse(text) as Event).forked_from;
    const origin = from && (await log.run(from.run_id));
    if (origin === undefined || origin.removed === true) return id === runId ? undefined : id;
    id = origin.runId;
  }
}

function toMachine(scope: string, { snapshot, requestId }: KnownMachine): InspectedMachine {
  return {
    request_id: requestId,
    call_id: isRoot(scope) ? "" : scope,
    ...toState(snapshot),
  };
}

/** The parts of a stored state of XState that people look at. */
function toState(snapshot: Json): Omit<InspectedMachine, "request_id" | "call_id"> {
  const { value = null, status = "", context = null, children = {} } = (snapshot ?? {}) as PersistedSnapshot;
  const inner = Object.entries(children).filter(([, child]) => child.snapshot !== undefined);
  return {
    value,
    status,
    context: hideSecrets(context),
    ...(inner.length > 0 && {
      children: Object.fromEntries(inner.map(([id, child]) => [id, toState(child.snapshot ?? null)])),
    }),
  };
}

interface PersistedSnapshot {
  readonly value?: Json;
  readonly status?: string;
  readonly context?: Json;
  readonly children?: { readonly [id: string]: { readonly snapshot?: Json } };
}

function toQueued({ requestId, request, acceptedAt }: AcceptedRequest): InspectedRequest {
  return {
    request_id: requestId,
    operation: request.type === "ChatRequest" ? CHAT : request.operation,
    input: request.input,
    accepted_at: new Date(acceptedAt).toISOString(),
  };
}
