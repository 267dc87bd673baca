import { AgentError } from "../errors.ts";
import type { Event } from "../protocol/events/events.ts";
import type { Usage } from "../protocol/events/outcome-codes.ts";
import { canonical, isObject } from "../protocol/json.ts";
import type { Json } from "../protocol/json.ts";
import type { Schema } from "../runtime/agent/agent.ts";
import { parseWith } from "../runtime/agent/definition/schema.ts";

/** What a scorer judges: the last turn of a case, with the events of all turns. */
export interface ScoredCase {
  readonly input: Json;
  /** The answer: the value of an operation, the text of a chat; `null` if the turn has failed. */
  readonly output: Json;
  /** The answer that is expected; absent if the case says none. */
  readonly expected?: Json;
  readonly events: readonly Event[];
  /** Of all completions, recorded ones included. */
  readonly usage: Usage;
  /** How long all completions took, in milliseconds. */
  readonly modelMs: number;
}

/** How good an answer is. */
export interface Score {
  /** From 0 to 1; `null` if it does not apply to the case. */
  readonly score: number | null;
  readonly reason?: string;
}

/**
 * Judges an answer. The scorers of `autoevals` fit too: the name of a score comes from the result, else from the function, and
 * its reason from `metadata.rationale`.
 */
export type Scorer = (judged: ScoredCase) => unknown;

/** A score with the name of its scorer. */
export interface NamedScore extends Score {
  readonly name: string;
}

/** Has a scorer judge. A scorer that throws gives 0, with its error as the reason. */
export async function scoreWith(scorer: Scorer, judged: ScoredCase): Promise<NamedScore> {
  try {
    return toScore(scorer.name, await scorer(judged));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return { name: scorer.name, score: 0, reason: `the scorer failed: ${reason}` };
  }
}

function toScore(scorer: string, given: unknown): NamedScore {
  if (typeof given === "number" || given === null) return { name: scorer, score: bounded(scorer, given) };
  if (typeof given === "boolean") return { name: scorer, score: given ? 1 : 0 };
  if (!isObject(given)) throw new AgentError("invalid_request", `${scorer} returned no score`);
  const { name = scorer, score, reason, metadata } = given;
  const rationale = isObject(metadata) ? metadata["rationale"] : undefined;
  const why = reason ?? rationale;
  return {
    name: typeof name === "string" ? name : scorer,
    score: bounded(scorer, score),
    ...(typeof why === "string" && { reason: why }),
  };
}

function bounded(scorer: string, score: unknown): number | null {
  if (score === null) return null;
  if (typeof score !== "number" || !(score >= 0 && score <= 1))
    throw new AgentError("invalid_request", `${scorer} must give a score from 0 to 1`);
  return score;
}

/** A scorer with the name that its scores have. */
export function named(name: string, scorer: Scorer): Scorer {
  return Object.defineProperty((judged: ScoredCase) => scorer(judged), "name", { value: name });
}

/** 1 if the answer is exactly the expected one. Does not apply to a case that expects none. */
export function exact(): Scorer {
  return named("exact", ({ output, expected }) => {
    if (expected === undefined) return null;
    return canonical(output) === canonical(expected)
      ? 1
      : { score: 0, reason: `expected ${short(expected)}, got ${short(output)}` };
  });
}

/** 1 if the answer fits a schema. */
export function fitsSchema(schema: Schema<unknown>): Scorer {
  return named("schema", async ({ output }) => {
    try {
      await parseWith(schema, output, "the answer");
      return 1;
    } catch (thrown) {
      return { score: 0, reason: thrown instanceof Error ? thrown.message : String(thrown) };
    }
  });
}

/** The share of texts that are in the answer, without regard to case. */
export function contains(...texts: readonly string[]): Scorer {
  return named("contains", ({ output }) => {
    const said = (typeof output === "string" ? output : JSON.stringify(output)).toLowerCase();
    const missing = texts.filter((text) => !said.includes(text.toLowerCase()));
    const score = texts.length === 0 ? 1 : 1 - missing.length / texts.length;
    return { score, ...(missing.length > 0 && { reason: `missing: ${missing.join(", ")}` }) };
  });
}

/** The share of the fields of the expected answer that the answer has with equal values, at every depth. */
export function jsonDiff(): Scorer {
  return named("json_diff", ({ output, expected }) => {
    if (expected === undefined) return null;
    const wanted = leavesOf(toJson(expected));
    const got = leavesOf(toJson(output));
    const paths = new Set([...wanted.keys(), ...got.keys()]);
    const different = [...paths].filter((path) => wanted.get(path) !== got.get(path));
    return {
      score: paths.size === 0 ? 1 : 1 - different.length / paths.size,
      ...(different.length > 0 && { reason: `different: ${different.join(", ")}` }),
    };
  });
}

/** 1 if the agent has called these tools, in this order; other calls may be between them. */
export function callsTools(...names: readonly string[]): Scorer {
  return named("calls_tools", ({ events }) => {
    const called = toolsIn(events);
    const found = countInOrder(called, names);
    if (found === names.length) return 1;
    return {
      score: found / names.length,
      reason: `expected ${names.join(", ")}; called ${called.join(", ") || "none"}`,
    };
  });
}

/** 1 if all completions together cost at most so much. Does not apply if no model says what it costs. */
export function costsAtMost(limit: number): Scorer {
  return named("cost", ({ usage }) => {
    if (usage.cost === undefined) return null;
    return usage.cost <= limit ? 1 : { score: 0, reason: `${usage.cost} is above ${limit}` };
  });
}

/** 1 if all completions together took at most so many milliseconds. */
export function takesAtMost(ms: number): Scorer {
  return named("latency", ({ modelMs }) =>
    modelMs <= ms ? 1 : { score: 0, reason: `${Math.round(modelMs)} ms are above ${ms} ms` },
  );
}

/** The names of the tools and agents that were called, in their order; those of tools that a provider runs are among them. */
export function toolsIn(events: readonly Event[]): readonly string[] {
  return events.flatMap((event) =>
    event.type === "ToolCall" && (event.attempt ?? 1) === 1 ? [event.function_name] : [],
  );
}

/** How many of the names, from the first one on, are in a list in this order; others may be between them. */
export function countInOrder(list: readonly string[], names: readonly string[]): number {
  let found = 0;
  for (const name of list) if (name === names[found]) found += 1;
  return found;
}

/** An answer that is JSON in a text, as its value. */
function toJson(answer: Json): Json {
  if (typeof answer !== "string") return answer;
  try {
    return JSON.parse(answer) as Json;
  } catch {
    return answer;
  }
}

/** The values in a value, by their paths; what is empty is a value too. */
function leavesOf(
  value: Json,
  path: string = "$",
  leaves: Map<string, string> = new Map(),
): Map<string, string> {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) leaves.set(path, JSON.stringify(value));
  for (const [key, field] of entries)
    leavesOf(field, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, leaves);
  return leaves;
}

const SHOWN = 120;

function short(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
