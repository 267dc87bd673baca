import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { EvaluateOptions } from "../../eval/evaluate.ts";
import { evaluate } from "../../eval/evaluate.ts";
import { toReportPage } from "../../eval/html.ts";
import { toJUnit } from "../../eval/junit.ts";
import type { AnswerCache } from "../../eval/live-models.ts";
import { belowThresholds, compareReports, toTable } from "../../eval/report.ts";
import type { EvalReport, ReportPage } from "../../eval/report.ts";
import type { LanguageModel, Model } from "../../ports/model.ts";
import type { Evaluation } from "../../eval/definition.ts";
import type { EvalCase } from "../../eval/case.ts";
import type { Agent } from "../../runtime/agent/agent.ts";
import { aiSdkModel } from "../../llm/ai-sdk/model.ts";
import { AgentError, isInstance } from "../../errors.ts";
import { EXIT, Exit } from "../exit.ts";
import { loadAgents } from "../load-agents.ts";
import { parseWholeNumber } from "../option-values.ts";
import { Meter } from "../print/meter.ts";
import { printTable } from "../print/table.ts";
import { findPrices, loadServerConfig } from "../serve/server-config.ts";
import { stderr, stdout, styled } from "../print/terminal.ts";
import { toDuration } from "../print/text.ts";
import { Command, InvalidArgumentError } from "../vendor/commander.ts";
import { checkOut, parseRefs } from "./commit.ts";
import {
  casesFile,
  keptFile,
  loadEvaluation,
  parseDataSet,
  readCases,
  SHOWN_FILE,
  writeWhole,
} from "./data-set.ts";

interface Options {
  readonly agents: string;
  readonly at: readonly string[];
  readonly model?: readonly string[];
  readonly live?: readonly string[];
  readonly offline: boolean;
  readonly budget?: number;
  readonly concurrency: number;
  readonly timeout: number;
  readonly threshold?: number;
  readonly baseline?: string;
  readonly keep?: string;
  readonly html?: string;
  readonly junit?: string;
  readonly json: boolean;
}

const AFTER_HELP = `
A completion with the recorded prompt gets the recorded answer; tools and people answer as recorded. What is new is asked of the
agent's model, and the answer is kept in evals/.kept, so that it is paid once. The reports are there too: the newest one as
newest.json and newest.html.

Exit codes: 0 the thresholds are reached, 1 they are not, or cases did not end, 2 usage, 65 the agents do not load, 78 the data
set or its file of scorers does not load.

Examples:
  troupe eval run refunds
  troupe eval run refunds --offline --threshold 1
  troupe eval run refunds --keep main; troupe eval run refunds --baseline main
  troupe eval run refunds --at main
  troupe eval run refunds --model small,large --budget 2 --live search_articles`;

/** `troupe eval run`: does the conversations of a data set again with the agents of a directory. */
export function evalRunCommand(): Command {
  return new Command("run")
    .description(
      "Does the conversations of a data set again with the agents of a directory, and judges the answers.",
    )
    .argument("<name>", "the data set", parseDataSet)
    .option("--agents <directory>", "directory of the agent files", "agents")
    .option("--at <refs>", "also the agents of these commits, tags or branches of git", parseRefs, [])
    .option("--model <names>", "ask these models for everything, and compare them", parseList)
    .option("--live <names>", "tools, effects and agents that do their work", parseList)
    .option("--offline", "ask no model", false)
    .option("--budget <cost>", "what models may cost, in the unit of their prices", parseAmount)
    .option("--concurrency <number>", "cases at once", parseWholeNumber, 8)
    .option("--timeout <seconds>", "how long a case may take", parseWholeNumber, 120)
    .option(
      "--threshold <score>",
      "the least mean of every scorer that has no threshold of its own",
      parseShare,
    )
    .option("--baseline <name>", "compare with the report that --keep has kept; default: the newest one")
    .option("--keep <name>", "keep the report under this name", parseDataSet)
    .option("--html <file>", "write the report as a page")
    .option("--junit <file>", "write the report as JUnit XML, for pipelines")
    .option("--json", "print the reports as one line of JSON", false)
    .addHelpText("after", AFTER_HELP)
    .action(run);
}

async function run(name: string, options: Options): Promise<void> {
  const cases = await readCases(name);
  if (cases === undefined)
    throw new Exit(
      EXIT.unknown,
      `there is no data set ${casesFile(name)}`,
      `troupe eval pick ${name} --agent NAME makes one`,
    );
  const evaluation = await loadEvaluation(name);
  const before = await readBaseline(name, options.baseline);
  const reports = await tryAll(name, cases, evaluation, options);
  const [report] = reports;
  if (report === undefined) return;
  const html = toReportPage(reports, before);
  await writeWhole(keptFile(name, "newest.json"), JSON.stringify(report));
  const shown: ReportPage = { reports, ...(before && { before }) };
  await writeWhole(keptFile(name, SHOWN_FILE), JSON.stringify(shown));
  await writeWhole(keptFile(name, "newest.html"), html);
  if (options.keep !== undefined)
    await writeWhole(keptFile(name, `${options.keep}.json`), JSON.stringify(report));
  if (options.html !== undefined) await writeWhole(options.html, html);
  // A commit is there to compare with: what its agents answer fails nothing.
  const judged = reports.slice(0, options.model?.length ?? 1);
  const thresholds = toThresholds(judged, evaluation, options.threshold);
  if (options.junit !== undefined) await writeWhole(options.junit, toJUnit(report, thresholds));
  const faults = judged.flatMap((one) => faultsOf(one, thresholds));
  if (options.json) stdout.json({ reports, faults });
  else print(reports, before, options.html ?? keptFile(name, "newest.html"));
  for (const fault of faults) stderr.line(styled("red", fault));
  if (faults.length > 0) process.exitCode = EXIT.failed;
}

/** Evaluates the agents of the directory, then those of commits; each with the models that are compared. */
async function tryAll(
  name: string,
  cases: readonly EvalCase[],
  evaluation: Evaluation,
  options: Options,
): Promise<readonly EvalReport[]> {
  const { at, offline, concurrency, timeout } = options;
  const { scorers, live = [] } = evaluation;
  const models = toModels(options.model, evaluation);
  const prices = await findPrices(await loadServerConfig(undefined));
  const cache = await openCache(name);
  const meter = new Meter("cases", cases.length * (at.length + 1) * models.length);
  const reports: EvalReport[] = [];
  let left = options.budget;
  let done = 0;
  const tryWith = async (directory: string, ref?: string): Promise<void> => {
    const agents = await agentsFor(cases, directory);
    for (const { model, variant } of models) {
      const title = [ref, variant].filter((part) => part !== undefined).join(" ");
      // oxlint-disable-next-line no-await-in-loop -- they share a budget
      const report = await evaluate({
        name,
        cases,
        agents,
        ...(scorers && { scorers }),
        live: [...live, ...(options.live ?? [])],
        models: !offline,
        ...(model && { model }),
        ...(title !== "" && { variant: title }),
        ...(left !== undefined && { budget: left }),
        ...(prices && { prices }),
        cache,
        concurrency,
        timeoutMs: timeout * 1_000,
        done: () => meter.show((done += 1)),
      });
      if (left !== undefined) left = Math.max(0, left - report.spent);
      reports.push(report);
    }
  };
  await tryWith(options.agents);
  for (const ref of at) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of the report
    const commit = await checkOut(name, ref);
    try {
      // oxlint-disable-next-line no-await-in-loop -- in the order of the report
      await tryWith(commit.directoryOf(options.agents), ref);
    } finally {
      // oxlint-disable-next-line no-await-in-loop -- git changes one worktree at a time
      await commit.remove();
    }
  }
  meter.end();
  return reports;
}

async function agentsFor(cases: readonly EvalCase[], directory: string): Promise<readonly Agent[]> {
  const { agents } = await loadAgents(directory);
  const missing = [...new Set(cases.map(({ agent }) => agent))].filter(
    (agent) => !agents.some((other) => other.name === agent),
  );
  if (missing.length === 0) return agents;
  throw new Exit(
    EXIT.unknown,
    `${directory} has no agent ${missing.join(", ")}`,
    "--agents names another directory",
  );
}

/** What each evaluation asks; without models to compare, what the agents ask. */
function toModels(
  names: readonly string[] | undefined,
  { models = {} }: Evaluation,
): readonly Pick<EvaluateOptions, "model" | "variant">[] {
  if (names === undefined) return [{}];
  return names.map((variant) => ({ variant, model: toModel(variant, models) }));
}

function toModel(name: string, models: NonNullable<Evaluation["models"]>): Model | LanguageModel {
  const own = Object.hasOwn(models, name) ? models[name] : undefined;
  if (own) return own;
  try {
    return aiSdkModel(name);
  } catch (thrown) {
    if (!isInstance(thrown, AgentError)) throw thrown;
    throw new Exit(
      EXIT.usage,
      `${name} is no model: ${thrown.message}`,
      "the file of the data set may name it (models)",
    );
  }
}

/** The report to compare with; the newest one need not be there. */
async function readBaseline(name: string, baseline: string | undefined): Promise<EvalReport | undefined> {
  const file = keptFile(name, `${baseline ?? "newest"}.json`);
  if (existsSync(file)) return JSON.parse(await readFile(file, "utf8")) as EvalReport;
  if (baseline === undefined) return undefined;
  throw new Exit(
    EXIT.unknown,
    `there is no report ${file}`,
    `troupe eval run ${name} --keep ${baseline} makes one`,
  );
}

/** The answers of models, in a file each. */
async function openCache(name: string): Promise<AnswerCache> {
  const fileOf = (key: string): string => keptFile(name, `answers/${key}.json`);
  return {
    async get(key) {
      return existsSync(fileOf(key)) ? readFile(fileOf(key), "utf8") : undefined;
    },
    set: (key, answer) => writeWhole(fileOf(key), answer),
  };
}

function toThresholds(
  reports: readonly EvalReport[],
  { thresholds = {} }: Evaluation,
  threshold: number | undefined,
): { readonly [scorer: string]: number } {
  if (threshold === undefined) return thresholds;
  const names = reports.flatMap(({ scores }) => Object.keys(scores));
  return { ...Object.fromEntries(names.map((name) => [name, threshold])), ...thresholds };
}

function faultsOf(report: EvalReport, thresholds: { readonly [scorer: string]: number }): readonly string[] {
  const title = report.variant === undefined ? "" : `${report.variant}: `;
  const { incomplete } = report;
  const first = report.cases.find((one) => one.incomplete !== undefined);
  return [
    ...belowThresholds(report, thresholds),
    ...(first ? [`${toCount(incomplete)} did not end; ${first.id}: ${first.incomplete ?? ""}`] : []),
  ].map((fault) => `${title}${fault}`);
}

function print(reports: readonly EvalReport[], before: EvalReport | undefined, page: string): void {
  const [report] = reports;
  if (report === undefined) return;
  const all = before === undefined ? reports : [...reports, { ...before, variant: "before" }];
  const { scorers, figures } = toTable(all);
  const rows = [
    ...scorers.map((name) => [name, ...all.map(({ scores }) => scores[name]?.mean.toFixed(3) ?? "–")]),
    ...figures.map(({ what, texts }) => [what, ...texts]),
  ];
  printTable(["SCORE", ...all.map(({ variant }) => (variant ?? "now").toUpperCase())], rows);
  const different = report.cases.filter(({ difference }) => difference !== undefined);
  if (different.length > 0) {
    const counts = new Map<string, number>();
    for (const { difference } of different) {
      const parts = difference?.parts ?? [];
      const what = parts.length === 0 ? "a completion that is not recorded" : parts.join(", ");
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
    const said = [...counts].map(([what, count]) => `${what} (${count})`).join("; ");
    stdout.line(`Prompts differ in ${different.length} of ${report.cases.length} cases: ${said}`);
  }
  if (before !== undefined) {
    const { worse, better, changed } = compareReports(report, before);
    stdout.line(
      `Since ${before.at}: ${worse.length} worse, ${better.length} better, ${changed.length} with another answer`,
    );
    for (const id of worse.slice(0, SHOWN)) stdout.line(styled("red", `  worse: ${id}`));
  }
  const ms = reports.reduce((sum, { elapsed_ms: took }) => sum + took, 0);
  for (const one of reports) printFailures(one);
  stdout.line(`${toCount(report.cases.length)} in ${toDuration(ms)}. Report: ${page}`);
}

/** Says why turns have failed that were to end otherwise. */
function printFailures({ cases, variant }: EvalReport): void {
  const failed = cases.filter(({ error, equal }) => error !== undefined && equal !== true);
  const [first] = failed;
  if (first?.error === undefined) return;
  const { code, message } = first.error;
  const title = variant === undefined ? "" : `${variant}: `;
  stdout.line(styled("red", `${title}${toCount(failed.length)} failed; ${first.id}: ${code}: ${message}`));
}

function toCount(cases: number): string {
  return `${cases} case${cases === 1 ? "" : "s"}`;
}

/** The cases that are worse which are named. */
const SHOWN = 10;

function parseList(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("It must be names with commas between.");
  return names;
}

function parseAmount(text: string): number {
  const amount = Number(text);
  if (text.trim() === "" || !(amount >= 0)) throw new InvalidArgumentError("It must be a number from 0.");
  return amount;
}

function parseShare(text: string): number {
  const share = parseAmount(text);
  if (share > 1) throw new InvalidArgumentError("It must be a number from 0 to 1.");
  return share;
}
