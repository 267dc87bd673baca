import { Command, Option } from "./vendor/commander.ts";
import { STATISTICS_BY } from "../ports/statistics.ts";
import type { StatisticsBy } from "../ports/statistics.ts";
import type { StatisticsAnswer, StatisticsRow } from "../protocol/answers/statistics.ts";
import { dollars } from "../view/cost-text.ts";
import { addConnectionOptions, connectWire, talk } from "./connect.ts";
import type { ConnectionOptions } from "./connect.ts";
import { parseTime } from "./option-values.ts";
import { printTable } from "./print/table.ts";
import { stderr, stdout } from "./print/terminal.ts";

interface StatsOptions extends ConnectionOptions {
  readonly by: StatisticsBy;
  readonly since?: number;
  readonly until?: number;
  readonly owner?: string;
  readonly agent?: string;
  readonly json: boolean;
}

/** `troupe stats`: what turns and completions have done and used. */
export function statsCommand(): Command {
  return addConnectionOptions(new Command("stats"))
    .description("Shows what turns and completions have done, used and cost, of the last day or of a time.")
    .addOption(new Option("--by <what>", "what the rows are").choices(STATISTICS_BY).default("agent"))
    .option("--since <time>", "from the hour with this time, for example 2030-01-31", parseTime)
    .option("--until <time>", "to the hour with this time", parseTime)
    .option("--owner <name>", "only what is of this owner")
    .option("--agent <name>", "only what is of this agent")
    .option("--json", "print the answer of the server as JSON", false)
    .addHelpText("after", "\nExample: troupe stats --by model --since 2030-01-01")
    .action(run);
}

async function run({ by, since, until, owner, agent, json, ...connection }: StatsOptions): Promise<void> {
  const wire = connectWire(connection);
  const query = {
    by,
    ...(since !== undefined && { since: new Date(since).toISOString() }),
    ...(until !== undefined && { until: new Date(until).toISOString() }),
    ...(owner !== undefined && { owner }),
    ...(agent !== undefined && { agent }),
  };
  const { json: body } = await talk(wire, () => wire.ask("GET", "/statistics", { query }));
  const answer = body as StatisticsAnswer;
  if (json) {
    stdout.json(answer);
    return;
  }
  if (answer.rows.length === 0) stderr.line("nothing has ended in this time");
  printTable(
    [by.toUpperCase(), "TURNS", "FAILED", "COMPLETIONS", "TOKENS", "COST", "P50", "P95"],
    answer.rows.map(toCells),
  );
}

function toCells(row: StatisticsRow): string[] {
  const { name, agent, turns, completions, usage, unknown_costs: unknown, latency } = row;
  const { input_tokens: input = 0, output_tokens: output = 0, cost = 0 } = usage;
  const sum = ({ success, error, canceled }: StatisticsRow["turns"]): string =>
    String(success + error + canceled);
  return [
    agent === undefined ? name : `${agent}: ${name}`,
    sum(turns),
    String(turns.error),
    sum(completions),
    String(input + output),
    unknown > 0 ? `${dollars(cost)} and ${unknown} unknown` : dollars(cost),
    latency === undefined ? "" : `${latency.p50_ms} ms`,
    latency === undefined ? "" : `${latency.p95_ms} ms`,
  ];
}
