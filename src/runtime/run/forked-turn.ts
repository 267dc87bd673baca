import { AgentError } from "../../errors.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { Event } from "../../protocol/events/events.ts";
import { encodeTexts } from "../../protocol/events/texts.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import type { AcceptedRequest, RecordBody } from "../journal/records.ts";
import { readOne } from "../replay/beginning.ts";
import { forEachEntry } from "../replay/entries.ts";
import type { PlacedRecord } from "../replay/entries.ts";
import { JournalBuilder } from "../replay/journal-builder.ts";
import { stateAt } from "../replay/load-run.ts";
import type { RunState } from "../replay/run-state.ts";
import { rootOf } from "../journal/call-id.ts";
import type { RunContext } from "../run-context.ts";

/** The open turn of a run up to one of its questions, which another run continues. */
export interface ForkedTurn {
  readonly accepted: AcceptedRequest;
  /** The id of its RequestStarted. */
  readonly started: number;
  /** The state of its run before that. */
  readonly before: RunState;
  /** What the log has of it from then on, in its order. */
  readonly entries: readonly (string | PlacedRecord)[];
}

/**
 * Reads the open turn of a run up to a question; throws `conflict` if it cannot be continued from there by another run: what it
 * has asked elsewhere is answered only once.
 */
export async function readForkedTurn(
  { log }: Pick<RunContext, "log">,
  { runId, owner, started: requestId, head }: RunEntry,
  waitId: number,
): Promise<ForkedTurn> {
  const refuse = (fact: string): AgentError =>
    new AgentError("conflict", `run ${runId} cannot be forked at wait ${waitId}: ${fact}`, {
      hint: "fork it after the end of a turn, and make the request again",
    });
  const text = waitId > 0 && waitId <= head ? await readOne(log, runId, waitId) : undefined;
  const wait = text === undefined ? undefined : (JSON.parse(text) as Event);
  if (wait?.type !== "WaitForInput") throw refuse("it is no question");
  const { started } = (requestId !== undefined && (await log.lookup(requestId, ownerOf({ owner })))) || {};
  if (requestId === undefined || started === undefined || wait.request_id !== requestId)
    throw refuse("its turn is not open");
  const { open } = await stateAt(log, runId, waitId - 1);
  const request = open.find(({ accepted }) => accepted.requestId === requestId);
  if (request?.turn === undefined) throw refuse("its turn is not open");
  const root = rootOf(request.turn);
  // A checkpoint is not needed: all that it was made of is copied.
  let builder = new JournalBuilder(root);
  const entries: (string | PlacedRecord)[] = [];
  let isAlone = true;
  const add = (entry: string | PlacedRecord): void => {
    if (entries.push(entry) > ENTRIES) throw refuse(`its turn has more than ${ENTRIES} events and records`);
  };
  const range = { head: started - 1, records: 0, end: waitId - 1 };
  await forEachEntry(log, runId, range, {
    event(event) {
      isAlone &&= (JSON.parse(event) as Event).request_id === requestId;
      builder.event(event);
      add(event);
    },
    texts(texts) {
      builder.texts(texts);
      for (const text of encodeTexts(texts)) add(text);
    },
    record(record) {
      if (record.after < started || !OF_TURN.has(record.type)) return;
      // The request goes on in a next turn: what was before is history.
      if (record.type === "Continued") builder = new JournalBuilder(root);
      else builder.record(record);
      add(record);
    },
  });
  if (!isAlone) throw refuse("messages or other requests have come since its turn began");
  const isBusy = builder.journal().open.some(({ made }) => made !== undefined);
  if (isBusy) throw refuse("a call of its turn is open there");
  // The state at the start has also what came between it and the event before.
  const state = await stateAt(log, runId, started);
  const { accepted } = state.open.find(({ accepted: { requestId: id } }) => id === requestId) ?? request;
  return { accepted, started, before: { ...state, turns: state.turns - 1 }, entries };
}

/** The most of a turn that is copied, since that is one commit. */
const ENTRIES = 10_000;

/** The records that a turn is replayed from. What models were asked is kept for people alone, and stays with the other run. */
const OF_TURN: ReadonlySet<RecordBody["type"]> = new Set([
  "Continued",
  "Sleep",
  "Woke",
  "Cleanup",
  "Receive",
  "Received",
  "Queued",
  "Begun",
  "Now",
  "Random",
  "Patched",
  "All",
  "Artifact",
  "MachineState",
  "Iterated",
  "RemoteCursor",
  "MemoryCommitted",
  "Configured",
  "MemoryTaken",
]);

/** Where a turn is copied to. */
export interface TurnTarget {
  /** The request of the copied turn. */
  readonly requestId: RequestId;
  /** Makes an event that of the new run. */
  toCopy(text: string): string;
}

/** Writes a turn of another run as the open turn of a new run, in one commit. Its code is that of new requests. */
export async function copyTurn(
  { agents, secrets }: RunContext,
  ledger: RunLedger,
  { accepted, entries }: ForkedTurn,
  { requestId, toCopy }: TurnTarget,
): Promise<void> {
  const agent = agents.find(accepted.agent);
  const version = agent && agents.versionOf(agent);
  // Nobody waits for the answer of a copy.
  const { sender: _sender, callId: _callId, ...own } = accepted;
  const configs = entries.flatMap((entry) =>
    typeof entry !== "string" && entry.type === "Configured" && entry.args ? [entry.args] : [],
  );
  const toOwn = (text: string): string => {
    const event = JSON.parse(toCopy(text)) as Event & { agent_version?: string };
    const { agent_version: _, ...rest } = event;
    const isStart = event.type === "RequestStarted";
    return JSON.stringify({
      ...(isStart ? rest : event),
      request_id: requestId,
      ...(isStart && version !== undefined && { agent_version: version }),
    });
  };
  await secrets.with({ configs }, async () => {
    const [start = "", ...others] = entries;
    ledger.copyStart({ ...own, requestId }, toOwn(start as string), version);
    for (const entry of others) {
      if (typeof entry === "string") {
        ledger.recorder.encoded(toOwn(entry));
        continue;
      }
      const { n: _n, after: _after, ...record } = entry;
      if (record.type === "Continued") {
        const { agent_version: _, ...next } = record;
        const own = { ...next, request_id: requestId, forked: true };
        ledger.continueTurn({ ...own, ...(version !== undefined && { agent_version: version }) }, NO_MEMORY);
      } else if (record.type === "MemoryCommitted" && record.call_id === undefined) ledger.change(record);
      else ledger.recorder.record(record);
    }
    // The next start is its first.
    ledger.change({ type: "Released", request_id: requestId });
    ledger.save();
  });
}

/** What a turn has left in memory is in records of its own. */
const NO_MEMORY: ReadonlyMap<string, Json> = new Map();
