import { AgentError } from "../errors.ts";
import { isObject } from "../protocol/json.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { CompletionOptions, Turn, TurnRequestInfo, WaitOptions } from "../runtime/agent/turn-api.ts";
import { parseCompletion } from "../runtime/model/prompt.ts";
import type { Completion, GuardedAnswer } from "../runtime/model/prompt.ts";
import { decisionSchema } from "./approval.ts";

/**
 * Judges what goes into a model and comes out of it. Each function may do I/O and is not asked again for what it has judged
 * already; if it throws, nothing passes.
 */
export interface ModelGuard {
  /** Shown in the log and in the message of a refusal. */
  readonly name: string;
  /** Judges a text before the model reads it: the request with its files, a hint, or the result of a tool. */
  prompt?(text: string, context: PromptContext): Verdict<string> | Promise<Verdict<string>>;
  /** Judges what the model has said before anybody else reads it; it is not streamed until then. */
  answer?(text: string, context: GuardContext): Verdict<string> | Promise<Verdict<string>>;
  /** Judges the arguments of a call that the model asks for, before a human may have to approve it. */
  call?(args: Json, context: CallContext): Verdict<Json> | Promise<Verdict<Json>>;
}

/**
 * What a guard says: nothing to let it pass, why it is refused, what is taken in its place, or a question to a person, who lets it
 * pass or refuses it.
 */
// oxlint-disable-next-line typescript/no-invalid-void-type -- A guard that has no objection need not return anything.
export type Verdict<Value> =
  | void
  | { readonly refuse: string }
  | { readonly rewrite: Value }
  | { readonly ask: string };

/** For whom a guard judges. */
export interface GuardContext {
  readonly agent: string;
  readonly request: TurnRequestInfo;
  readonly metadata: JsonObject;
  readonly config: JsonObject;
  readonly signal: AbortSignal;
}

/** Where a text comes from that the model is about to read. */
export interface PromptContext extends GuardContext {
  readonly from: "user" | "tool";
  /** The name of the tool, if it is a result. */
  readonly tool?: string;
}

/** Which call the model asks for. */
export interface CallContext extends GuardContext {
  readonly tool: string;
}

/** Throws for guards that cannot be. */
export function checkGuards(guards: readonly ModelGuard[], agentName: string): void {
  for (const [index, { name, prompt, answer, call }] of guards.entries()) {
    const judges = [prompt, answer, call].filter((judge) => judge !== undefined);
    if (typeof name === "string" && judges.length > 0 && judges.every((judge) => typeof judge === "function"))
      continue;
    throw new AgentError("invalid_request", `guards[${index}] of agent ${agentName} is no guard`, {
      hint: "use an object with a name and one or more of the functions prompt, answer and call",
    });
  }
}

/** Whether calls of tools, with their results, are judged. */
export function judgesCalls(guards: readonly ModelGuard[]): boolean {
  return guards.some(({ prompt, call }) => prompt !== undefined || call !== undefined);
}

/** A text as the model may read it. Throws `model_refused` if it may not. */
export function judgePrompt(
  turn: Turn,
  guards: readonly ModelGuard[],
  text: string,
  about: Pick<PromptContext, "from" | "tool">,
): Promise<string> {
  const judges = guards.map(({ name, prompt }) => {
    return {
      name,
      judge: prompt && ((value: string, context: GuardContext) => prompt(value, { ...context, ...about })),
    };
  });
  return judge(turn, judges, text, {
    what: about.from === "tool" ? `the result of ${about.tool}` : "the prompt",
  });
}

/** The arguments with which a call may be made. Throws `model_refused` if it may not. */
export function judgeCall(
  turn: Turn,
  guards: readonly ModelGuard[],
  tool: string,
  args: Json,
): Promise<Json> {
  const judges = guards.map(({ name, call }) => {
    return {
      name,
      judge: call && ((value: Json, context: GuardContext) => call(value, { ...context, tool })),
    };
  });
  return judge(turn, judges, args, { what: `the call of ${tool}`, tool });
}

/**
 * The review of what a model says by guards; absent if none judges that. It is part of the completion, whose result has what they
 * said, so what they refuse is never logged.
 */
export function reviewOf(turn: Turn, guards: readonly ModelGuard[]): CompletionOptions["review"] {
  if (guards.every(({ answer }) => answer === undefined)) return undefined;
  return async ({ result }, signal) => {
    let { text } = parseCompletion(result);
    const asks: { readonly guard: string; readonly question: string }[] = [];
    const rewritten: string[] = [];
    for (const { name: guard, answer } of text === "" ? [] : guards) {
      const verdict = toVerdict(await answer?.(text, toContext(turn, signal)), guard);
      if (verdict === undefined) continue;
      if ("refuse" in verdict) {
        const refused = { guard, reason: verdict.refuse };
        return {
          text: "",
          result: { text: "", toolCalls: [], finishReason: "refused", guarded: { refused } },
        };
      }
      if ("ask" in verdict) asks.push({ guard, question: verdict.ask });
      else {
        text = asText(verdict.rewrite, guard);
        rewritten.push(guard);
      }
    }
    const guarded: GuardedAnswer = {
      ...(rewritten.length > 0 && { rewritten }),
      ...(asks.length > 0 && { asks }),
    };
    if (Object.keys(guarded).length === 0) return { text, result };
    const { original } = parseCompletion(result);
    const judged = {
      ...(result as JsonObject),
      text,
      ...(original !== undefined && { original: rewritten.length > 0 ? withText(original, text) : original }),
      guarded,
    };
    return { text: asks.length > 0 ? "" : text, result: judged as unknown as Json };
  };
}

/** Settles what guards have said of an answer: throws `model_refused`, or asks a person and then says it. */
export async function settleAnswer(turn: Turn, { text, guarded }: Completion, prefix: string): Promise<void> {
  if (guarded?.refused) throw refusal(guarded.refused.guard, "the answer", guarded.refused.reason);
  if (guarded?.asks === undefined) return;
  for (const { guard, question } of guarded.asks) await ask(turn, question, { guard, what: "the answer" });
  await turn.text(`${prefix}${text}`);
}

/** A guard's function for one kind of value. */
interface Judge<Value> {
  readonly name: string;
  readonly judge:
    | ((value: Value, context: GuardContext) => Verdict<Value> | Promise<Verdict<Value>>)
    | undefined;
}

/** What is judged, in words, and the tool if it is a call. */
interface Judged {
  readonly what: string;
  readonly tool?: string;
}

/** Asks guards one after the other, each as an effect. */
async function judge<Value extends Json>(
  turn: Turn,
  judges: readonly Judge<Value>[],
  given: Value,
  { what, tool }: Judged,
): Promise<Value> {
  let value = given;
  for (const { name, judge } of judges) {
    if (judge === undefined) continue;
    const current = value;
    const said = await turn.effect(
      `guard ${name}`,
      async ({ signal }) =>
        ((await judge(structuredClone(current), toContext(turn, signal))) ?? null) as Json,
      { effect: "idempotent" },
    );
    const verdict = toVerdict(said ?? undefined, name);
    if (verdict === undefined) continue;
    if ("refuse" in verdict) throw refusal(name, what, verdict.refuse);
    if ("ask" in verdict) {
      const options = tool === undefined ? {} : { approval: { tool, args: value } };
      await ask(turn, verdict.ask, { guard: name, what, options });
    } else value = (typeof given === "string" ? asText(verdict.rewrite, name) : verdict.rewrite) as Value;
  }
  return value;
}

/** Asks a person. Throws `model_refused` if the person declines. */
async function ask(
  turn: Turn,
  question: string,
  {
    guard,
    what,
    options = {},
  }: { readonly guard: string; readonly what: string; readonly options?: WaitOptions },
): Promise<void> {
  const { approved, reason } = await turn.waitForInput(decisionSchema(question), options);
  if (!approved) throw refusal(guard, what, reason ?? "a person declined");
}

function toContext(turn: Turn, signal: AbortSignal): GuardContext {
  const { agent, request, metadata, config } = turn;
  return { agent, request, metadata, config, signal };
}

/** Checks what a guard has returned: a mistake must not let anything pass. */
function toVerdict(said: unknown, guard: string): Exclude<Verdict<Json>, void> | undefined {
  if (said === undefined) return undefined;
  if (isObject(said)) {
    const { refuse, ask, rewrite } = said;
    const isOne = Object.keys(said).length === 1;
    if (isOne && (typeof refuse === "string" || typeof ask === "string" || rewrite !== undefined))
      return said as unknown as Exclude<Verdict<Json>, void>;
  }
  throw new Error(`guard ${guard} returned no verdict: use nothing, { refuse }, { rewrite } or { ask }`);
}

function asText(value: Json, guard: string): string {
  if (typeof value === "string") return value;
  throw new Error(`guard ${guard} rewrote a text into something else`);
}

function refusal(guard: string, what: string, reason: string): AgentError {
  return new AgentError("model_refused", `guard ${guard} refused ${what}: ${reason}`);
}

/** The parts of an answer with another text. */
function withText(original: Json, text: string): Json {
  if (!Array.isArray(original)) return original;
  const parts = original as readonly Json[];
  const isText = (part: Json): boolean => isObject(part) && part["type"] === "text";
  const first = parts.findIndex(isText);
  return parts.flatMap((part, index) =>
    isText(part) ? (index === first ? [{ type: "text", text }] : []) : [part],
  );
}
