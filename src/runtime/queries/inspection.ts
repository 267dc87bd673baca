import { AgentError } from "../../errors.ts";
import type { Base } from "../../ports/log-batch.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry, RunEntry } from "../../ports/log-entries.ts";
import { depthOf, typeOf } from "../../protocol/events/encode.ts";
import type { CalleeKind } from "../../protocol/actors.ts";
import type { EventOf, Event } from "../../protocol/events/events.ts";
import { countTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { AgentDirectory } from "../agent/agent-directory.ts";
import { CHAT } from "../agent/agent.ts";
import type { Agent } from "../agent/agent.ts";
import { describeOperations, toolsFromSources } from "../agent/definition/describe.ts";
import type {
  InspectedAgent,
  InspectedCallee,
  InspectedCompletion,
  InspectedMachine,
  InspectedMark,
  InspectedRequest,
  InspectedRun,
  Inspection,
} from "../inspection.ts";
import { copyOpenTurns } from "./log-copy.ts";
import type { Scope } from "../access/scope.ts";
import { isRoot, rootOf } from "../journal/call-id.ts";
import type { AcceptedRequest, MachineState } from "../journal/records.ts";
import { toHeading, withEvent, withProgress, withRecord } from "../replay/heading.ts";
import { readOne, toBeginning, toForgotten } from "../replay/beginning.ts";
import { forEachEntry } from "../replay/entries.ts";
import type { PlacedRecord, Visitor } from "../replay/entries.ts";
import { WHOLE, readPrompt } from "../replay/prompts.ts";
import { initialRunState, startedOf } from "../replay/run-state.ts";
import type { RunState } from "../replay/run-state.ts";
import type { RunContext } from "../run-context.ts";
import { hideSecrets } from "../secrets/hidden.ts";
import type { Queries } from "./queries.ts";
import { recordRun } from "./run-recording.ts";

/** Creates the view of a runtime that operators have. */
export function createInspection(
  { log, agents, environment, limits }: RunContext,
  queries: Queries,
  scope: Scope,
  isInMemory: (runId: RunId) => boolean,
): Inspection {
  let instance: string | undefined;
  const startedAt = new Date(environment.now()).toISOString();
  return {
    server: () => ({
      instance: (instance ??= environment.newId()),
      started_at: startedAt,
      durability: log.durability,
      limits: Object.fromEntries(Object.entries(limits).map(([name, limit]) => [toSnakeCase(name), limit])),
    }),
    agent: (name) => inspectAgent(agents, name),
    async run(runId, at) {
      const run = await queries.run(runId, scope);
      return inspectRun(log, run, { at, isInMemory: isInMemory(runId) });
    },
    openTurns: () => copyOpenTurns(log, environment),
    completion: async (requestId, callId) =>
      inspectCompletion(log, await queries.request(requestId, scope), callId),
    recording: async (runId) => recordRun(log, await queries.run(runId, scope)),
  };
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** An agent with everything it calls; throws `not_found` for an unknown one. */
function inspectAgent(agents: AgentDirectory, name: string): InspectedAgent {
  const agent = agents.get(name);
  const { purpose, effect, version, model, memory, machine } = agent;
  const callees = calleesOf(agents, agent);
  const away = (agent.sources ?? []).flatMap(({ readiness }) => [readiness()].flat());
  const reasons = away
    .filter(({ state }) => state !== "ready")
    .map(({ detail = "a tool is away" }) => detail);
  return {
    name,
    purpose,
    kind: kindOf(agent),
    effect,
    ...(version !== undefined && { version }),
    ...(model !== undefined && { model }),
    memory,
    tools: callees.filter(({ kind }) => kind === "tool"),
    ...(reasons.length > 0 && { away: reasons }),
    collaborators: callees.filter(({ kind }) => kind !== "tool"),
    called_by: agents.names.filter(
      (other) =>
        other !== name && calleesOf(agents, agents.get(other)).some((callee) => callee.agent === name),
    ),
    ...(machine && { statechart: machine.statechart }),
  };
}

/** What an agent calls: the agents that it uses under names of its own, and those that it only lists. */
function calleesOf(agents: AgentDirectory, agent: Agent): readonly InspectedCallee[] {
  const uses = agents.usesOf(agent);
  const used = Object.entries(uses).map(([name, callee]) => {
    const own = agent.uses[name];
    return toCallee(agents, callee, name, own === callee ? undefined : own?.name);
  });
  const listed = [...agent.tools, ...toolsFromSources(agent)].filter(
    (tool) => !Object.values(uses).includes(tool),
  );
  return [...used, ...listed.map((tool) => toCallee(agents, tool, tool.name))];
}

function toCallee(agents: AgentDirectory, agent: Agent, name: string, insteadOf?: string): InspectedCallee {
  return {
    name,
    agent: agent.name,
    kind: kindOf(agent),
    purpose: agent.purpose,
    effect: agent.effect,
    // The chat of a tool is left out: it is only another form of its call.
    operations: describeOperations(agent).filter(
      (operation) => agent.kind !== "tool" || operation.name !== CHAT,
    ),
    served: isServed(agents, agent),
    ...(insteadOf !== undefined && { instead_of: insteadOf }),
  };
}

/** Whether requests for the name of an agent get to it; those for a tool get to an agent that calls it. */
function isServed(agents: AgentDirectory, agent: Agent): boolean {
  const found = agents.find(agent.name);
  return found === agent || (agent.kind === "tool" && found?.tools.includes(agent) === true);
}

function kindOf({ kind, remote }: Agent): CalleeKind {
  return remote === undefined ? kind : "remote";
}

/** The state of a run as of an event. */
async function inspectRun(
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
    const text = await readOne(log, id, at);
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

/** A run as of an event. */
interface RunAt {
  readonly state: RunState;
  /** The machines of the newest turn that had one, by the scope of their actor. */
  readonly machines: ReadonlyMap<string, KnownMachine>;
  readonly marks: readonly InspectedMark[];
}

/** The recorded state of a machine, and the request whose turn runs it. */
interface KnownMachine extends MachineState {
  readonly requestId: RequestId;
}

/**
 * Reads a run up to an event, as a run is loaded. At the newest event that includes all records; at an earlier one, only
 * those before it, because the next ones belong to what happened then.
 */
async function readRunAt(
  log: EventLog,
  runId: RunId,
  place: { readonly at: number; readonly isNewest: boolean },
): Promise<RunAt> {
  const visitor = new RunAtVisitor(runId, place);
  await forEachEntry(log, runId, { head: 0, records: 0, end: place.at + SAME_COMMIT }, visitor);
  return visitor;
}

/** A StateChanged is followed by the record of the state, after the events of the calls that the transition starts. */
const SAME_COMMIT = 100;

class RunAtVisitor implements Visitor, RunAt {
  state: RunState = initialRunState;
  readonly machines = new Map<string, KnownMachine>();
  readonly marks: InspectedMark[] = [];
  readonly #runId: RunId;
  readonly #at: number;
  readonly #isNewest: boolean;
  #id = 0;
  /** The scopes of machines whose newest StateChanged was read, and the record of that state was not. */
  readonly #moved = new Set<string>();

  constructor(runId: RunId, { at, isNewest }: { readonly at: number; readonly isNewest: boolean }) {
    this.#runId = runId;
    this.#at = at;
    this.#isNewest = isNewest;
  }

  event(text: string): void {
    this.#id += 1;
    if (this.#id > this.#at) return;
    this.state = withEvent(this.state, toHeading(text));
    if (typeOf(text) !== "StateChanged") return;
    const { parent_call_id: call } = JSON.parse(text) as EventOf<"StateChanged">;
    this.#moved.add(depthOf(text) === 0 ? rootOf(startedOf(this.state)?.turn ?? 0) : (call ?? ""));
  }

  base(base: Base): void {
    if (base.head > this.#at) throw toForgotten(this.#runId, base);
    const { state, records } = toBeginning(base);
    this.state = state;
    this.#id = base.head;
    for (const record of records)
      if (record.type === "MachineState") this.#setMachine(record.scope, record.state);
  }

  texts(texts: Texts): void {
    this.#id += countTexts(texts);
    this.state = withProgress(this.state);
  }

  record(record: PlacedRecord): void {
    const isBefore = this.#isNewest || record.after < this.#at;
    if (record.type === "MachineState" && (isBefore || this.#moved.has(record.scope)))
      this.#setMachine(record.scope, record.state);
    if (!isBefore) return;
    this.state = withRecord(this.state, record);
    const mark = toMark(record, this.marks);
    if (mark) this.marks.push(mark);
  }

  #setMachine(scope: string, state: MachineState): void {
    const started = startedOf(this.state);
    if (started?.turn === undefined) return;
    this.#moved.delete(scope);
    const { requestId } = started.accepted;
    for (const [other, machine] of this.machines)
      if (machine.requestId !== requestId) this.machines.delete(other);
    this.machines.set(scope, { ...state, requestId });
  }
}

function toMark(record: PlacedRecord, before: readonly InspectedMark[]): InspectedMark | undefined {
  const { after } = record;
  switch (record.type) {
    case "Accepted": {
      const { requestId, acceptedAt } = record.accepted;
      return { type: "accepted", after, request_id: requestId, at: new Date(acceptedAt).toISOString() };
    }
    case "RecoveryStarted":
      if (!isRestart(record, before)) return undefined;
      return { type: "recovered", after, request_id: record.request_id, ...toTime(record.at) };
    case "Released":
      // A `Released` without a time says that the turn was parked, not that its process has ended.
      if (record.at === undefined) return undefined;
      return { type: "released", after, request_id: record.request_id, ...toTime(record.at) };
    default:
      return undefined;
  }
}

/** Whether a turn continues because its process ended, not because a long sleep is over. */
function isRestart(
  { request_id: requestId, deaths = 0 }: PlacedRecord & { readonly type: "RecoveryStarted" },
  before: readonly InspectedMark[],
): boolean {
  return deaths > 0 || before.findLast((mark) => mark.request_id === requestId)?.type === "released";
}

function toTime(at: number | undefined): { readonly at?: string } {
  return at === undefined ? {} : { at: new Date(at).toISOString() };
}

/** What a completion was asked; throws `not_found` if the log does not have it. */
async function inspectCompletion(
  log: EventLog,
  entry: RequestEntry,
  callId: CallId,
): Promise<InspectedCompletion> {
  const { requestId, runId } = entry;
  const prompt = await readPrompt(log, entry, callId);
  if (prompt === undefined) {
    throw new AgentError(
      "not_found",
      `the log has no prompt of a completion ${callId} of request ${requestId}`,
      {
        hint: "prompts are kept unless the runtime has the option prompts: false",
      },
    );
  }
  const { record, messages, fields, cut } = prompt;
  const { [WHOLE]: input, instructions, tools, ...settings } = fields;
  return {
    run_id: runId,
    request_id: requestId,
    call_id: callId,
    agent: record.agent,
    attempt: record.attempt,
    ...(instructions !== undefined && { instructions }),
    messages,
    known_messages: record.keep,
    ...(tools !== undefined && { tools }),
    settings,
    ...(input !== undefined && { input }),
    cut,
  };
}
