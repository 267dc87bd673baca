import { availableParallelism } from "node:os";
import { CHECK_LIMIT_MS, CheckTally } from "../../testing/log-check.ts";
import type { LogCheck, Misfit } from "../../testing/log-check.ts";
import { EXIT, Exit } from "../exit.ts";
import { withoutPassword } from "../logs/connection.ts";
import { parseWholeNumber } from "../option-values.ts";
import { printTable } from "../print/table.ts";
import { stdout, styled } from "../print/terminal.ts";
import { toDuration } from "../print/text.ts";
import { Command } from "../vendor/commander.ts";
import { rehearseInThreads } from "./rehearsal-threads.ts";
import { checkSpending } from "./spending.ts";
import type { SpendingCheck } from "./spending.ts";
import { checkStatistics } from "./statistics.ts";
import type { StatisticsCheck } from "./statistics.ts";

interface Options {
  readonly agents: string;
  readonly config?: string;
  readonly finished?: number;
  readonly limit: number;
  readonly keepVersions: boolean;
  readonly json: boolean;
}

/** `troupe check`: whether open turns fit the code in a directory. */
export function checkCommand(): Command {
  return new Command("check")
    .description(
      "Replays the open turns of a log with the agents of a directory, and says which would be held.",
    )
    .argument(
      "[log]",
      "a data directory, postgres://user@host:5432/database, or the http(s):// address of a server; default: TROUPE_LOG, or else .troupe",
    )
    .option("--agents <directory>", "directory of the agent files", "agents")
    .option(
      "--config <file>",
      "the module whose encryption has the keys of an encrypted log; default: troupe.config.ts, if there is one",
    )
    .option(
      "--finished <number>",
      "replay so many turns that have ended, in place of the open ones",
      parseWholeNumber,
    )
    .option(
      "--limit <seconds>",
      "how long the code of a turn may need for its log",
      parseWholeNumber,
      CHECK_LIMIT_MS / 1_000,
    )
    .option(
      "--no-keep-versions",
      "leave out the versions that servers have kept, as theirs of this name does",
    )
    .option("--json", "print the result as one line of JSON", false)
    .addHelpText("after", AFTER_HELP)
    .action(run);
}

const AFTER_HELP = `
Nothing is written, called or sent: code runs only as far as its log. A server may be working on the log.
A server sends a copy of its open turns to an admin (TROUPE_TOKEN), without secret values and files of runs.

It also says if what owners have spent cannot be right: that decides which turns wait for a budget. And it compares the answers of the
statistics with the hours that are counted, and looks for the newest turn of each run in them; turns of removed runs stay counted.

Exit codes: 0 all turns fit, 1 some would be held or come to no end, or spending or statistics are wrong, 2 nothing could be checked.

Example:
  troupe check postgres://reader@db.internal/agents --agents agents`;

async function run(
  given: string | undefined,
  { agents, config, finished, limit, keepVersions, json }: Options,
): Promise<void> {
  const { TROUPE_LOG: variable = "" } = process.env;
  const place = given ?? (variable === "" ? ".troupe" : variable);
  const tally = new CheckTally();
  const started = performance.now();
  const options = {
    agents,
    ...(config !== undefined && { config }),
    place,
    limitMs: limit * 1_000,
    keepVersions,
    threads: Math.min(availableParallelism(), MOST_THREADS),
  };
  const isServer = /^https?:\/\//.test(place);
  if (finished !== undefined && isServer)
    throw new Exit(
      EXIT.usage,
      "a server gives its open turns alone",
      "leave out --finished, or name its log",
    );
  let spending: SpendingCheck | undefined;
  let statistics: StatisticsCheck | undefined;
  try {
    if (!isServer) {
      spending = await checkSpending(place);
      statistics = await checkStatistics(place);
    }
    await rehearseInThreads({ ...options, ...(finished !== undefined && { finished }) }, (turn) =>
      tally.add(turn),
    );
  } catch (thrown) {
    if (!(thrown instanceof Exit)) throw thrown;
    // Nothing could be checked: a pipeline sees one status for that.
    throw new Exit(EXIT.usage, thrown.message, thrown.hint);
  }
  const ms = Math.round(performance.now() - started);
  const check = tally.result;
  if (json)
    stdout.json({ ...toJson(check, ms), ...(spending && { spending }), ...(statistics && { statistics }) });
  else
    print(check, {
      spending,
      statistics,
      ms,
      place: withoutPassword(place),
      kind: finished === undefined ? "open" : "ended",
    });
  const faults = [...(spending?.faults ?? []), ...(statistics?.faults ?? [])];
  if (!check.fits || faults.length > 0) process.exitCode = EXIT.failed;
}

const MOST_THREADS = 4;

/** The result for programs. */
function toJson({ fits, turns, agents, misfits }: LogCheck, ms: number): object {
  return {
    fits,
    turns,
    duration_ms: ms,
    agents,
    misfits: misfits.map(({ runIds, ...misfit }) => ({ ...misfit, turns: runIds.length, run_ids: runIds })),
  };
}

interface Checked {
  readonly spending: SpendingCheck | undefined;
  readonly statistics: StatisticsCheck | undefined;
  readonly ms: number;
  readonly place: string;
  readonly kind: "open" | "ended";
}

function print(
  { turns, agents, misfits }: LogCheck,
  { spending, statistics, ms, place, kind }: Checked,
): void {
  const rows = agents.map(({ agent, ...counts }) => [
    agent,
    ...[counts.fits, counts.older, counts.held, counts.undecided].map((count) => count.toLocaleString("en")),
  ]);
  printTable(["AGENT", "FIT", "OLDER VERSION FITS", "HELD", "UNDECIDED"], rows);
  for (const misfit of misfits) printMisfit(misfit);
  if (spending !== undefined && spending.days > 0) printSpending(spending);
  if (statistics !== undefined && statistics.rows > 0) printStatistics(statistics);
  const bad = misfits.reduce((sum, { runIds }) => sum + runIds.length, 0);
  const end = bad === 0 ? "All fit." : `${bad.toLocaleString("en")} ${bad === 1 ? "does" : "do"} not fit.`;
  const counted = turns === 1 ? `1 ${kind} turn` : `${turns.toLocaleString("en")} ${kind} turns`;
  stdout.line(`${counted} of ${place} in ${toDuration(ms)}. ${end}`);
}

function printSpending({ days, faults }: SpendingCheck): void {
  for (const fault of faults) stdout.line(styled("bold", "spending of"), ` ${fault}`);
  const counted = days === 1 ? "1 day" : `${days.toLocaleString("en")} days`;
  stdout.line(
    `Spending: ${counted} of owners and agents. ${faults.length === 0 ? "Nothing is wrong." : ""}`.trimEnd(),
  );
}

function printStatistics({ rows, runs, faults }: StatisticsCheck): void {
  for (const fault of faults) stdout.line(styled("bold", "statistics"), ` ${fault}`);
  const [counted, compared] = [rows, runs].map((count) => count.toLocaleString("en"));
  const what = `Statistics: ${counted} rows of hours, compared with their sums and with the newest turns of ${compared} runs.`;
  stdout.line(`${what} ${faults.length === 0 ? "Nothing is wrong." : ""}`.trimEnd());
}

function printMisfit({ agent, outcome, code, message, at, expected, found, runIds }: Misfit): void {
  const count = runIds.length === 1 ? "1 turn" : `${runIds.length.toLocaleString("en")} turns`;
  const what = outcome === "held" ? `would be held (${code ?? ""})` : "undecided";
  stdout.line();
  stdout.line(styled("bold", `${agent}: ${count} ${what}`), at === undefined ? "" : ` at ${at}`);
  if (expected === undefined) stdout.line(`  ${message}`);
  else {
    stdout.line(`  the log has:   ${expected}`);
    stdout.line(`  the code does: ${found ?? "something else"}`);
  }
  stdout.line(styled("dim", `  for example run ${runIds[0] ?? ""}`));
  stdout.line();
}
