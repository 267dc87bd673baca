import * as z from "zod";
import { AgentError } from "../errors.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { RecordedEnd, RecordedRun, RecordedTurn } from "../runtime/recording.ts";

/** A conversation that agents are tried with: what it asked, what answered it, and what is expected. */
export interface EvalCase {
  /** Names the case in reports: the id of the run that it was made from, or a name of one's own. */
  readonly id: string;
  readonly agent: string;
  /** The metadata of the run. */
  readonly metadata?: JsonObject;
  readonly config?: JsonObject;
  readonly turns: readonly CaseTurn[];
}

/** A turn of a case. Only `operation` and `input` are needed: what is not recorded is asked of the model. */
export interface CaseTurn extends Partial<Omit<RecordedTurn, "request_id" | "end" | "operation" | "input">> {
  /** `chat`, or the name of an operation. */
  readonly operation: string;
  readonly input: Json;
  readonly expected?: Partial<RecordedEnd>;
}

/** A case that was recorded. Turns that were canceled, and those after them, are left out. */
export function toCase({ run_id: id, turns, ...run }: RecordedRun): EvalCase {
  const canceled = turns.findIndex(({ end }) => end.finish_reason === "canceled");
  const kept = canceled === -1 ? turns : turns.slice(0, canceled);
  return { id, ...run, turns: kept.map(toCaseTurn) };
}

function toCaseTurn({ end, ...recorded }: RecordedTurn): CaseTurn {
  const { request_id: _requestId, ...turn } = recorded;
  return { ...turn, expected: end };
}

const turn = z.looseObject({
  operation: z.string().default("chat"),
  input: z.json(),
  at: z.iso.datetime().optional(),
  expected: z.looseObject({}).optional(),
  answers: z.array(z.looseObject({ keys: z.array(z.string()) })).optional(),
  messages: z
    .array(z.looseObject({ name: z.string(), body: z.json(), after: z.int().default(0) }))
    .optional(),
  completions: z.array(z.looseObject({ agent: z.string(), model: z.string(), result: z.json() })).optional(),
  calls: z.array(z.looseObject({ name: z.string(), kind: z.string(), args: z.json() })).optional(),
});

const shape = z.looseObject({
  id: z.string().min(1),
  agent: z.string().min(1),
  turns: z.array(turn).min(1),
});

/** Reads a data set: one case a line. Throws `invalid_request` with the line of the first fault. */
export function parseCases(jsonl: string): readonly EvalCase[] {
  const cases = new Map<string, EvalCase>();
  for (const [index, line] of jsonl.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = shape.safeParse(parseLine(line, index + 1));
    if (!parsed.success) throw fault(index + 1, z.prettifyError(parsed.error));
    const found = parsed.data as unknown as EvalCase;
    if (cases.has(found.id)) throw fault(index + 1, `another case has the id ${found.id}`);
    cases.set(found.id, found);
  }
  return [...cases.values()];
}

/** Writes a data set, one case a line. */
export function formatCases(cases: readonly EvalCase[]): string {
  return cases.map((one) => `${JSON.stringify(one)}\n`).join("");
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (thrown) {
    throw fault(number, thrown instanceof Error ? thrown.message : "it is not JSON");
  }
}

function fault(line: number, message: string): AgentError {
  return new AgentError("invalid_request", `line ${line} is not a case: ${message}`, {
    hint: 'a line is {"id": "…", "agent": "…", "turns": [{"operation": "chat", "input": {"input": "…"}}]}',
  });
}
