import type { Claim, EventLog } from "../../ports/event-log.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import type { HoldReason } from "../../protocol/events/outcome-codes.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { RunLedger } from "../activation/run-ledger.ts";
import type { RequestEnd } from "../activation/run-ledger.ts";
import { openTurn, runHandler } from "../activation/turn-slot.ts";
import { chooseCode } from "../activation/turn-code.ts";
import type { Agent } from "../agent/agent.ts";
import type { TriedCode } from "../agent/candidate.ts";
import { Recorder } from "../journal/recorder.ts";
import type { RecorderListener } from "../journal/recorder.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { loadRun } from "../replay/load-run.ts";
import type { LoadedRun, PassivatedTurn } from "../replay/load-run.ts";
import { startedOf } from "../replay/run-state.ts";
import type { RunContext } from "../run-context.ts";
import { Inbox } from "../scheduler/inbox.ts";
import { ActorSystem } from "../system/actor-system.ts";
import { secretsOf } from "./run.ts";

/** Whether a code continues a turn. */
export type Rehearsed =
  | { readonly outcome: "fits" }
  /** The code that takes new requests does not fit, but another version does, which is served beside it or was kept. */
  | { readonly outcome: "older" }
  /** No code continues it. */
  | { readonly outcome: "held"; readonly reason: HoldReason }
  /** The code ended the turn, or did not come to the end of its log in time. */
  | { readonly outcome: "undecided"; readonly message: string };

/** A turn that was rehearsed. */
export interface RehearsedTurn {
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly agent: string;
  readonly rehearsed: Rehearsed;
}

/** How long the code of a turn may need for its log. */
export interface RehearsalLimit {
  /** Calls a function when the code of an agent has taken too long, with words that say so. Returns a function that stops it. */
  start(agent: string, expired: (message: string) => void): () => void;
}

/**
 * Runs the handler of the open turn of a run up to the end of its log, in a context that has no effects. `undefined` if no
 * turn of the run is open.
 */
export async function rehearse(
  context: RunContext,
  runId: RunId,
  limit: RehearsalLimit,
): Promise<RehearsedTurn | undefined> {
  const claim = await claimOf(context.log, runId);
  return claim && rehearseClaimed(context, claim, limit);
}

/** The same for a turn that has ended, up to its end. */
export async function rehearseEnded(
  context: RunContext,
  { runId, requestId, started, completed }: RequestEntry,
  limit: RehearsalLimit,
): Promise<RehearsedTurn | undefined> {
  if (started === undefined || completed === undefined) return undefined;
  const claim = await claimOf(context.log, runId);
  if (claim?.run === undefined) return undefined;
  const { base } = await context.log.read(runId, { after: started - 1, limit: 1 });
  // Its beginning was removed.
  if (base) return undefined;
  const { snapshot, run, cursor } = claim;
  const end = completed - 1;
  return rehearseClaimed(
    { ...context, log: upTo(context.log, end) },
    {
      cursor: { ...cursor, head: end },
      run: { ...run, status: "running", started: requestId },
      ...(snapshot !== undefined && snapshot.head < started && { snapshot }),
    },
    limit,
  );
}

/** What a claim would give, without one. */
async function claimOf(log: EventLog, runId: RunId): Promise<Claim | undefined> {
  const run = await log.run(runId);
  if (run === undefined || run.removed === true) return undefined;
  const snapshot = await log.snapshot(runId);
  return { cursor: { runId, epoch: 0, head: run.head, records: 0 }, run, ...(snapshot && { snapshot }) };
}

/** A log as it was before the end of a turn: what its last commit has besides its event is not there. */
function upTo(log: EventLog, end: number): EventLog {
  return {
    ...log,
    async read(runId, options) {
      const { after, limit = Infinity } = options;
      const page = await log.read(runId, { ...options, limit: Math.max(Math.min(limit, end - after), 1) });
      const records = page.records.filter(
        (record) => record.after < end || (record.after === end && record["type"] !== "MemoryCommitted"),
      );
      return { ...page, ...(after >= end && { events: [] }), records, head: end };
    },
  };
}

/** Rehearses a turn with one version after the other, as a server tries them. */
async function rehearseClaimed(
  context: RunContext,
  claim: Claim,
  limit: RehearsalLimit,
): Promise<RehearsedTurn | undefined> {
  const { runId } = claim.cursor;
  for (let tried: TriedCode | undefined; ;) {
    // Each version gets a journal of its own, because a replay uses it up.
    const loaded = await loadRun(context.log, claim);
    const { passivated, state } = loaded;
    const accepted = startedOf(state)?.accepted;
    if (accepted === undefined || passivated === undefined) return undefined;
    const { requestId, agent: name } = accepted;
    const turn = { runId, requestId, agent: name };
    const code = await chooseCode(context.agents, name, passivated.journal, tried);
    if (code.agent === undefined) return { ...turn, rehearsed: { outcome: "held", reason: code.misfit } };
    const rehearsed = await rehearseWith(context, code.agent, { claim, loaded, passivated, accepted }, limit);
    if (rehearsed.outcome !== "held") {
      const isOlder = rehearsed === FITS && context.agents.find(name) !== code.agent;
      return { ...turn, rehearsed: isOlder ? OLDER : rehearsed };
    }
    tried = {
      agents: [...(tried?.agents ?? []), code.agent],
      reason: tried?.reason ?? rehearsed.reason,
    };
  }
}

/** The open turn of a run, and what its run has. */
interface LoadedTurn {
  readonly claim: Claim;
  readonly loaded: LoadedRun;
  readonly passivated: PassivatedTurn;
  readonly accepted: AcceptedRequest;
}

async function rehearseWith(
  shared: RunContext,
  agent: Agent,
  { claim, loaded, passivated: { journal }, accepted }: LoadedTurn,
  limit: RehearsalLimit,
): Promise<Rehearsed> {
  const { state, bodies } = loaded;
  // Several turns of a run can be rehearsed at once, and a system has one actor for a run.
  const context = { ...shared, system: new ActorSystem(shared) };
  const recorder = new Recorder(context, claim.cursor, NO_LISTENER);
  const ledger = new RunLedger(context, recorder, state, claim);
  const secrets = secretsOf(loaded);
  if (secrets.length > 0) await context.secrets.hold(secrets);
  const unread = state.unread?.map((message, index) => ({ ...message, body: bodies[index] ?? null }));
  const end = Promise.withResolvers<Rehearsed>();
  const turn = openTurn(context, ledger, {
    agent,
    speaker: ledger.speakerOf(accepted),
    journal,
    inbox: new Inbox(context.limits, unread),
    listener: {
      changed() {},
      continued: () => end.resolve(FITS),
      canceling: () => "",
      received() {},
      prompted: (record) => ledger.prompted(record),
      raised() {},
      get spent() {
        return ledger.spent;
      },
      replayed() {
        // A called machine may still find that its logged state does not fit.
        context.environment.macrotask(() => context.environment.macrotask(() => end.resolve(FITS)));
      },
      unfit: (reason) => end.resolve({ outcome: "held", reason }),
      complete(_turn, turnEnd) {
        end.resolve(toEnded(turnEnd));
        return "";
      },
    },
  });
  if (turn === undefined) return FITS;
  const stopLimit = limit.start(accepted.agent, (message) => {
    // A server would hold it a minute later.
    const { missing } = turn.deliveries;
    if (missing !== undefined) turn.callMissing(missing);
    end.resolve({ outcome: "undecided", message });
  });
  turn.startReplay();
  const stop = runHandler(turn);
  try {
    return await end.promise;
  } finally {
    stopLimit();
    turn.release();
    stop();
    context.secrets.release(secrets);
  }
}

const FITS: Rehearsed = { outcome: "fits" };

const OLDER: Rehearsed = { outcome: "older" };

/** The code ended the turn before it had done again all that the log has, as it would when it is served. */
function toEnded({ error }: RequestEnd): Rehearsed {
  if (error === undefined) return FITS;
  return { outcome: "undecided", message: `the code ends the turn with ${error.code}: ${error.message}` };
}

const NO_LISTENER: RecorderListener = { beforeCommit() {}, flushed() {}, posted() {}, failed() {} };
