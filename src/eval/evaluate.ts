import { nodeEnvironment } from "../node/environment.ts";
import { ModelError } from "../ports/model.ts";
import type { LanguageModel, Model } from "../ports/model.ts";
import type { PriceTable } from "../ports/prices.ts";
import type { Substitutes } from "../ports/substitutes.ts";
import { canonical } from "../protocol/json.ts";
import type { Json } from "../protocol/json.ts";
import { mapConcurrent } from "../shared/map-concurrent.ts";
import type { Agent, Collaborators } from "../runtime/agent/agent.ts";
import { toModel } from "../runtime/model/provider-model.ts";
import type { CaseTurn, EvalCase } from "./case.ts";
import { LiveModels } from "./live-models.ts";
import type { AnswerCache } from "./live-models.ts";
import { openRuntime, replayCase } from "./replay.ts";
import type { ReplayedCase, ReplayedTurn } from "./replay.ts";
import { summarizeScores } from "./report.ts";
import type { CaseReport, EvalReport } from "./report.ts";
import { exact, scoreWith, toolsIn } from "./scorers.ts";
import type { Scorer } from "./scorers.ts";

/** What is evaluated, and how it is judged. */
export interface EvaluateOptions {
  /** The name of the data set. */
  readonly name: string;
  readonly cases: readonly EvalCase[];
  /** The agents as they are now. */
  readonly agents: readonly Agent[];
  readonly bind?: Collaborators;
  /** Default: whether the answer is exactly the expected one. */
  readonly scorers?: readonly Scorer[];
  /** Names of tools, effects and agents that do their work; the others are answered from the recording. */
  readonly live?: readonly string[];
  /** Whether models may be asked what the recording does not answer. Default true. */
  readonly models?: boolean;
  /** Asks this model for all completions, instead of the recording and the models of the agents. */
  readonly model?: Model | LanguageModel;
  /**
   * What the models may cost, in the unit of their prices; the completions that run then are not ended. A model without a price is
   * not asked again after its first answer. Default: no limit.
   */
  readonly budget?: number;
  /** Prices of models, before those that the package knows. */
  readonly prices?: PriceTable;
  readonly cache?: AnswerCache;
  /** What is tried, for the report. Default: the name of `model`. */
  readonly variant?: string;
  /** The most cases at once. Default 8. */
  readonly concurrency?: number;
  /** How long a case may take, in milliseconds. Default 120,000. */
  readonly timeoutMs?: number;
  /** Called when a case is done, in the order of the data set. */
  done?(one: CaseReport): void;
}

/**
 * Tries agents with a data set. Completions with the recorded prompt get the recorded answer, tools and people answer as
 * recorded; only what is new is asked of a model. An agent that has not changed needs no model at all.
 */
export async function evaluate(options: EvaluateOptions): Promise<EvalReport> {
  const { name, cases, agents, bind, prices, scorers = [exact()], live = [], budget = Infinity } = options;
  const { concurrency = 8, timeoutMs = 120_000, cache } = options;
  const model = options.model && toModel(options.model, "the evaluation");
  const variant = options.variant ?? model?.name;
  const startedMs = performance.now();
  const models = new LiveModels({
    allowed: options.models ?? true,
    budget,
    ...(cache && { cache }),
    ...(model && { model }),
  });
  const served = { agents, ...(bind && { bind }), ...(prices && { prices }) };
  const replay = async (one: EvalCase): Promise<CaseReport> => {
    const replayed = await replayCase(one, { ...served, models, live: new Set(live), timeoutMs });
    return judge(one, replayed, scorers);
  };
  const reports: CaseReport[] = [];
  // Keeps the connections to servers of tools open, which those of the cases share.
  const held = openRuntime({ ...served, environment: nodeEnvironment(), substitutes: NOTHING });
  try {
    await held.ready();
    for await (const report of mapConcurrent(cases, concurrency, replay)) {
      reports.push(report);
      options.done?.(report);
    }
  } finally {
    await held.close();
  }
  return {
    name,
    ...(variant !== undefined && { variant }),
    at: new Date().toISOString(),
    cases: reports,
    scores: summaries(reports),
    equal: reports.filter(({ equal }) => equal === true).length,
    incomplete: reports.filter(({ incomplete }) => incomplete !== undefined).length,
    asked: reports.reduce((sum, { asked }) => sum + asked, 0),
    spent: models.spent,
    elapsed_ms: Math.round(performance.now() - startedMs),
  };
}

/** Has nothing done outside, for example by a schedule of an agent. */
const NOTHING: Substitutes = {
  model: ({ name }) => ({
    name,
    // oxlint-disable-next-line require-yield -- it has no part
    async *generate() {
      throw new ModelError("an evaluation asks models only for its cases");
    },
  }),
  call: () => ({ type: "open" }),
};

async function judge(one: EvalCase, replayed: ReplayedCase, scorers: readonly Scorer[]): Promise<CaseReport> {
  const { turns, incomplete, asked, difference, usage, modelMs } = replayed;
  const last = one.turns.at(-1);
  const ended = turns.length === one.turns.length ? turns.at(-1) : undefined;
  const output = ended ? answerOf(ended) : null;
  const expected = last && expectedOf(last);
  const events = turns.flatMap((turn) => turn.events);
  const input = last?.input ?? null;
  const judged = { input, output, ...(expected !== undefined && { expected }), events, usage, modelMs };
  const scores =
    incomplete === undefined
      ? await Promise.all(scorers.map((scorer) => scoreWith(scorer, judged)))
      : scorers.map(({ name }) => ({ name, score: 0, reason: incomplete }));
  const isExpected = one.turns.some((turn) => turn.expected !== undefined);
  return {
    id: one.id,
    agent: one.agent,
    input,
    output,
    ...(expected !== undefined && { expected }),
    ...(isExpected && {
      equal: incomplete === undefined && one.turns.every((turn, at) => isAsExpected(turn, turns[at])),
    }),
    ...(ended && { finish_reason: ended.finish_reason }),
    ...(ended?.error && { error: ended.error }),
    ...(incomplete !== undefined && { incomplete }),
    scores,
    asked,
    ...(difference && { difference }),
    tools: toolsIn(events),
    usage,
    model_ms: Math.round(modelMs),
  };
}

/** The answer of a turn: the value of an operation, the text of a chat. */
function answerOf({ output, result }: Pick<ReplayedTurn, "output" | "result">): Json {
  return output ?? result;
}

function expectedOf({ expected }: CaseTurn): Json | undefined {
  if (expected?.output === undefined && expected?.result === undefined) return undefined;
  return expected.output ?? expected.result ?? null;
}

/** Whether a turn has ended as it is expected to. What is not expected does not matter. */
function isAsExpected(turn: CaseTurn, ended: ReplayedTurn | undefined): boolean {
  const { expected } = turn;
  if (expected === undefined) return true;
  if (ended === undefined) return false;
  const answer = expectedOf(turn);
  return (
    (expected.finish_reason === undefined || expected.finish_reason === ended.finish_reason) &&
    expected.error?.code === ended.error?.code &&
    (answer === undefined || canonical(answer) === canonical(answerOf(ended)))
  );
}

function summaries(reports: readonly CaseReport[]): EvalReport["scores"] {
  const found = new Map<string, number[]>();
  for (const { name, score } of reports.flatMap(({ scores }) => scores))
    if (score !== null) found.set(name, [...(found.get(name) ?? []), score]);
  return Object.fromEntries([...found].map(([name, scores]) => [name, summarizeScores(scores)]));
}
