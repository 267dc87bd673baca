import type { ActorRef, SenderRef } from "../../protocol/actors.ts";
import type { TurnError } from "../../protocol/events/outcome-codes.ts";
import type { RunId } from "../../protocol/ids.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { OperationRequest } from "../../protocol/requests/requests.ts";
import { within } from "../../shared/clock.ts";
import type { Agent } from "../agent/agent.ts";
import { parseWith } from "../agent/definition/schema.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { ReadTurn, Turn, TurnRequestInfo } from "../agent/turn-api.ts";
import { toJson } from "../journal/json-limits.ts";
import type { AcceptedRequest, MachineState } from "../journal/records.ts";
import { Transcript } from "../replay/transcript.ts";
import type { RunContext } from "../run-context.ts";
import { toHandlerResult } from "./answer.ts";
import { parsedConfig, parsedMemory } from "./own-values.ts";
import { TurnHandle } from "./turn-handle.ts";

/** What a run has committed, for an operation that reads it. */
export interface ReadState {
  /** Empty for an actor that has no run yet. */
  readonly runId: RunId;
  readonly key?: string | undefined;
  /** The agent's memory. */
  readonly memory: Json | undefined;
  /** The configuration of the agent, with secret values. */
  readonly config: JsonObject;
  /** The state of the machine of an open turn, if it runs one. */
  readonly machine?: MachineState | undefined;
}

/** How long a handler that reads may take, in milliseconds. */
const READ_MS = 60_000;

/** The end of an operation that only reads. */
export interface ReadEnd {
  readonly finishReason: "success" | "error";
  readonly result: string | null;
  readonly truncated?: boolean;
  readonly output: Json;
  readonly error?: TurnError;
}

/** Runs an operation that only reads. */
export async function performRead(
  { environment }: Pick<RunContext, "environment">,
  agent: Agent,
  accepted: AcceptedRequest,
  state: ReadState,
): Promise<ReadEnd> {
  const { requestId } = accepted;
  const { runId } = state;
  const request = accepted.request as OperationRequest;
  const { operation: name, input } = request;
  const operation = agent.operations[name];
  if (operation === undefined) throw new Error(`agent ${agent.name} has no operation ${name}`);
  const what = `what ${agent.name}.${name} returned`;
  try {
    const given = await parseWith(operation.input, copyJson(input), `the input of ${agent.name}.${name}`);
    const handle = new ReadHandle(
      sourceOf(agent, accepted, request, { state, now: environment.now }),
      state.machine,
    );
    const run = async (): Promise<{ readonly value: unknown }> => ({
      value: await operation.run(given, handle as unknown as Turn),
    });
    const ran = await within(environment, READ_MS, environment.attribute({ runId, requestId }, run));
    if (ran === undefined) return failed("timeout", `${agent.name}.${name} did not end within ${READ_MS} ms`);
    const { output: schema } = operation;
    const checked =
      schema === undefined || ran.value === undefined ? ran.value : await parseWith(schema, ran.value, what);
    const { text, output, truncated } = toHandlerResult(toJson(checked, what), {
      operation: name,
      transcript: new Transcript(),
    });
    return { finishReason: "success", result: text, output, ...(truncated && { truncated }) };
  } catch (thrown) {
    return failed("agent_error", errorMessage(thrown));
  }
}

function failed(code: "agent_error" | "timeout", message: string): ReadEnd {
  return { finishReason: "error", result: null, output: null, error: { code, message } };
}

/** What a handler that reads sees of a turn, or of a run. */
type ReadSource = Omit<ReadTurn, "memory"> & { readonly memory: { get(): unknown } };

function sourceOf(
  agent: Agent,
  { requestId, sender }: AcceptedRequest,
  { operation, input, request_metadata: metadata = {} }: OperationRequest,
  { state, now }: { readonly state: ReadState; readonly now: () => number },
): ReadSource {
  const { runId, key, memory, config } = state;
  return {
    agent: agent.name,
    get request() {
      return structuredClone({ requestId, runId, operation, input, attachments: [] });
    },
    get metadata() {
      return copyJson(metadata);
    },
    get config() {
      return parsedConfig(agent, config);
    },
    get self() {
      return { agent: agent.name, ...(key !== undefined && { key }), run_id: runId };
    },
    sender: sender && { ...sender },
    memory: { get: () => parsedMemory(agent, memory) },
    now,
  };
}

/** The turn of an operation that only reads: what would change something throws. */
export class ReadHandle implements Omit<ReadTurn, "memory"> {
  readonly #source: ReadSource;
  readonly #machine: MachineState | undefined;
  readonly memory: { get(): unknown; set(): never };

  constructor(source: ReadSource, machine: MachineState | undefined) {
    this.#source = source;
    this.#machine = machine;
    this.memory = {
      get: () => source.memory.get(),
      set: () => refuse(source, "memory.set"),
    };
  }

  /** The state of the machine that an operation reads: that of the open turn, and what the run has kept of it. */
  static machineOf(turn: ReadTurn): {
    readonly open?: MachineState | undefined;
    readonly kept?: Json | undefined;
  } {
    if (!(turn instanceof ReadHandle)) throw new TypeError("the turn must be one of this runtime");
    return { open: turn.#machine, kept: turn.memory.get() ?? undefined };
  }

  /** Why it throws for what only a turn has. */
  static refuse(handle: ReadHandle, name: string): never {
    return refuse(handle.#source, name);
  }

  get agent(): string {
    return this.#source.agent;
  }

  get request(): TurnRequestInfo {
    return this.#source.request;
  }

  get metadata(): JsonObject {
    return this.#source.metadata;
  }

  get config(): JsonObject {
    return this.#source.config;
  }

  get self(): ActorRef {
    return this.#source.self;
  }

  get sender(): SenderRef | undefined {
    return this.#source.sender;
  }

  now(): number {
    return this.#source.now();
  }
}

function refuse({ agent, request }: ReadSource, name: string): never {
  throw new TypeError(
    `operation ${request.operation} of agent ${agent} only reads, so it has no turn.${name}; remove its option read`,
  );
}

// What code without types may look for: a clear error instead of a missing function.
for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(TurnHandle.prototype))) {
  if (name in ReadHandle.prototype) continue;
  const throws = function (this: ReadHandle): never {
    return ReadHandle.refuse(this, name);
  };
  Object.defineProperty(ReadHandle.prototype, name, get ? { get: throws } : { value: throws });
}
