import { AgentError } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { Model, ModelPart, QueueOptions } from "../../ports/model.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { CHAT } from "../../runtime/agent/agent.ts";
import type { Agent, ChatInput, Effect, Operation, ChatOperations } from "../../runtime/agent/agent.ts";
import type { TimeoutOption } from "../../runtime/agent/call-options.ts";
import { chatInput, toAgent } from "../../runtime/agent/definition/definition.ts";
import { anyObject } from "../../runtime/agent/definition/handwritten-schema.ts";
import type { Turn } from "../../runtime/agent/turn-api.ts";
import type { EventOperations, MachineOperations } from "../../runtime/machine/from-machine.ts";
import { unlessAborted } from "../../shared/clock.ts";
import { answerLimits, BadAnswer, toAnswerEvent } from "./answer-event.ts";
import type { AnswerEvent, AnswerLimits } from "./answer-event.ts";

/** What the makers of agents from endpoints and commands have in common. */
export interface ExchangeOptions<Ops extends MachineOperations = MachineOperations>
  extends QueueOptions, TimeoutOption {
  /** Lower-case letters, digits and `-`, starting with a letter; at most 63 characters. */
  readonly name: string;
  /** One sentence for people and models. */
  readonly purpose: string;
  /** An interrupted turn continues only with the same version or a compatible one. */
  readonly version?: string;
  /** Other versions whose interrupted turns this one can continue. */
  readonly compatible?: readonly string[];
  /** Its operations besides chat, by name, each made with `operation({ description, input, output })`. */
  readonly operations?: Ops;
  /**
   * Whether a request may be sent again if a crash leaves its outcome unknown, or its connection breaks. Default `unsafe`:
   * the turn then ends with `interrupted`. An `idempotent` request is sent again with the same call id, and the texts of its
   * new answer replace those of the earlier one.
   */
  readonly effect?: Effect;
  /**
   * A request that has no complete answer after this time fails with `timeout`, in milliseconds. The deadline is in the log
   * and holds after a restart. Default 10 minutes.
   */
  readonly timeoutMs?: number;
  /** A request fails when nothing comes for this long, in milliseconds. Default 2 minutes. */
  readonly silenceMs?: number;
  readonly limits?: Partial<AnswerLimits>;
}

/** What is asked, as `toRequest` and `toInput` get it. */
export interface AskedExchange {
  /** The operation; `chat` for a chat. */
  readonly operation: string;
  /** The input of the operation; for a chat its text. */
  readonly input: Json;
  /** The answers to the `wait` of the answer before. */
  readonly answers?: JsonObject;
  /** The `state` of that `wait`. */
  readonly state?: Json;
  /** The run, which is the same for all turns of a conversation. */
  readonly runId: string;
  /** An idempotency key: equal on every attempt of this request, and unique over all runs and servers. */
  readonly callId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** Sends one request and reads its answer, in limits. Ends soon after the signal has aborted. */
export type Exchange = (
  asked: AskedExchange,
  answering: { readonly limits: AnswerLimits; readonly effect: Effect; readonly signal: AbortSignal },
) => AsyncIterable<string | AnswerEvent>;

/** The agent that an endpoint or a command is. */
export type ExchangeAgent<Ops extends MachineOperations> = Agent<EventOperations<Ops> & ChatOperations>;

const TIMEOUT_MS = 600_000;

/** The time without a byte after which an answer fails, in milliseconds. */
export const SILENCE_MS = 120_000;

/** How often an agent may ask its caller in one turn. */
const WAITS_LIMIT = 100;

/** How long an endpoint that is away is asked again, in milliseconds. */
const RETRY_MS = 5_000;

/** Texts of this length fit into an event. */
const TEXT_LENGTH = 16_384;

/**
 * Makes an agent of something that answers requests. Each request is a completion of the log: what it says is streamed as
 * texts of the agent, its end is journaled, and a request with an end is never sent again. A wait ends one request, and the
 * next one has the answers, so a turn that waits needs no connection and no process.
 */
export function exchangeAgent<Ops extends MachineOperations>(
  options: ExchangeOptions<Ops>,
  subject: string,
  exchange: Exchange,
): ExchangeAgent<Ops> {
  const { name, purpose, version, compatible, effect = "unsafe", concurrency, rate } = options;
  const { timeoutMs = TIMEOUT_MS, limits: given } = options;
  const limits = { ...answerLimits, ...given };
  const model: Model = {
    name,
    effect,
    ...(concurrency !== undefined && { concurrency }),
    ...(rate && { rate }),
    async *generate(input, { callId, attempt, signal }) {
      const asked = { ...(input as unknown as Omit<AskedExchange, "callId" | "attempt">), callId, attempt };
      try {
        yield* toParts(untilAborted(exchange(asked, { limits, effect, signal }), signal));
      } catch (thrown) {
        throw thrown instanceof BadAnswer ? new ModelError(`${subject} ${thrown.message}`) : thrown;
      }
    },
  };
  const perform = (operation: string, input: unknown, turn: Turn): Promise<unknown> =>
    converse(turn, { model, timeoutMs }, { operation, input: input as Json, runId: turn.request.runId });
  const chat: Operation<ChatInput> = {
    description: purpose,
    input: chatInput,
    run: (asked, turn) => perform(CHAT, (asked as ChatInput).input, turn),
  };
  const others = Object.entries(options.operations ?? {}).map(
    ([operation, declared]): [string, Operation] => [
      operation,
      {
        description: "",
        input: anyObject,
        ...declared,
        run: (input, turn) => perform(operation, input, turn),
      },
    ],
  );
  return toAgent({
    name,
    purpose,
    ...(version !== undefined && { version }),
    ...(compatible && { compatible }),
    operations: { chat, ...Object.fromEntries(others) },
  }) as unknown as ExchangeAgent<Ops>;
}

/** Sends requests until an answer ends without a wait; its output is the result. */
async function converse(
  turn: Turn,
  completion: { readonly model: Model; readonly timeoutMs: number },
  first: Pick<AskedExchange, "operation" | "input" | "runId">,
): Promise<unknown> {
  let asked: Omit<AskedExchange, "callId" | "attempt"> = first;
  for (let waits = 0; waits < WAITS_LIMIT; waits += 1) {
    // It has the whole time for each part of its answer.
    const patience = { firstTokenMs: completion.timeoutMs, idleMs: completion.timeoutMs };
    const retry = { forMs: RETRY_MS };
    const end = (await turn.complete({ ...completion, ...patience, retry, input: asked })) as ExchangeEnd;
    if (end.questions === undefined) return end.output;
    const answers = await turn.waitForInput(end.questions);
    asked = { ...first, answers, ...(end.state !== undefined && { state: end.state }) };
  }
  throw new AgentError("overloaded", `agent ${turn.agent} has asked ${WAITS_LIMIT} times in one turn`);
}

/** How an answer ended, as the log has it. */
interface ExchangeEnd {
  readonly output?: Json;
  readonly questions?: { readonly [key: string]: string };
  readonly state?: Json;
}

async function* toParts(events: AsyncIterable<string | AnswerEvent>): AsyncGenerator<ModelPart, void> {
  let end: ExchangeEnd = {};
  for await (const said of events) {
    const event = toAnswerEvent(said);
    if (event.type === "error") throw new ModelError(event.message);
    if (event.type === "text" || event.type === "reasoning")
      for (const text of toPieces(event.text)) yield { type: event.type, text };
    else end = toEnd(event);
  }
  yield { type: "result", result: end as JsonObject, usage: {} };
}

function toEnd(event: Extract<AnswerEvent, { readonly type: "output" | "wait" }>): ExchangeEnd {
  if (event.type === "output") return { output: event.output };
  const { questions, state } = event;
  return { questions, ...(state !== undefined && { state }) };
}

/** Divides a text into parts that fit into events, between characters. */
function* toPieces(given: string): Generator<string, void> {
  const text = given.toWellFormed();
  for (let start = 0; start < text.length;) {
    let end = start + TEXT_LENGTH;
    // The second half of a character stays with the first.
    if (/[\uDC00-\uDFFF]/.test(text.charAt(end))) end += 1;
    yield text.slice(start, end);
    start = end;
  }
}

/** The same events, until the signal aborts, also if the code that gives them does not end then. */
async function* untilAborted<Event>(
  events: AsyncIterable<Event>,
  signal: AbortSignal,
): AsyncGenerator<Event, void> {
  const iterator = events[Symbol.asyncIterator]();
  const leave = async (): Promise<unknown> => iterator.return?.();
  try {
    for (;;) {
      const next = await unlessAborted(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    leave().catch(() => {});
  }
}
