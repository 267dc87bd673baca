import { Command, InvalidArgumentError, Option } from "../vendor/commander.ts";
import type { RunsQuery } from "../../client/client-api.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { addConnectionOptions, requireAgent, requireServer, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { printTable } from "../print/table.ts";
import { stderr, stdout } from "../print/terminal.ts";
import { toDuration, toLine, toTime } from "../print/text.ts";

interface Options extends ConnectionOptions {
  readonly query?: string;
  readonly agent?: string;
  readonly status?: NonNullable<RunsQuery["status"]>;
  readonly limit: number;
  readonly watch: boolean;
  readonly json: boolean;
}

/** `troupe runs`: the newest runs. */
export function runsCommand(): Command {
  return addConnectionOptions(new Command("runs"))
    .description("Lists runs, newest first.")
    .option("-q, --query <text>", "a part of the first input, or how an id begins")
    .option("--agent <name>", "only runs of this agent")
    .addOption(new Option("--status <status>", "which runs").choices(["idle", "running", "waiting", "held"]))
    .option("--limit <number>", "at most so many", parseLimit, 20)
    .addOption(
      new Option("--watch", "print each run again when it changes, until Ctrl-C")
        .default(false)
        .conflicts(["query", "status"]),
    )
    .option("--json", "print one run a line as JSON", false)
    .addHelpText("after", "\nExamples:\n  troupe runs -q bob\n  troupe runs --watch")
    .action(run);
}

async function run(options: Options): Promise<void> {
  const client = connectToServer(options);
  const { query: q, agent, status, limit, watch, json } = options;
  await talk(client, async () => {
    if (watch) {
      await (agent === undefined ? requireServer(client) : requireAgent(client, agent));
      for await (const change of client.watchRuns({ limit, ...(agent !== undefined && { agent }) })) {
        if (json) stdout.json(change);
        else if ("removed" in change) stdout.line(`${change.run_id}  removed`);
        else stdout.cutLine(toRow(change).map(toLine).join("  "));
      }
      return;
    }
    const chosen = {
      ...(q !== undefined && { q }),
      ...(agent !== undefined && { agent }),
      ...(status && { status }),
    };
    const runs: RunSummary[] = [];
    // A page of a search can be short or empty and still have a next one, and a server limits the length of a page.
    let next: string | undefined;
    do {
      const cursor = next === undefined ? {} : { cursor: next };
      const page = await client.runs({ ...chosen, ...cursor, limit: limit - runs.length });
      runs.push(...page.runs);
      next = page.next;
    } while (next !== undefined && runs.length < limit);
    // The log can have runs of an agent that the server no longer has.
    if (runs.length === 0 && agent !== undefined) await requireAgent(client, agent);
    if (json) for (const row of runs) stdout.json(row);
    else if (runs.length === 0) stderr.line("no run fits");
    else printTable(["RUN", "AGENT", "STATE", "TURNS", "UPDATED", "INPUT"], runs.map(toRow));
  });
}

function toRow(row: RunSummary): string[] {
  const { run_id: id, agent, turns, updated_at: updated, initial_input: input, key } = row;
  return [
    key === undefined ? id : `${id} (${key})`,
    agent,
    toState(row),
    String(turns),
    toTime(updated),
    typeof input === "string" ? input : JSON.stringify(input),
  ];
}

/** What a run does, until when, and how many requests wait for it; or how its last turn ended. */
function toState({ status, last_turn: last, wake_at: wakeAt, queued }: RunSummary): string {
  if (status !== "idle" || last?.ended_at === undefined) {
    const until = wakeAt === undefined ? "" : ` until ${toTime(wakeAt)}`;
    return `${status}${until}${queued > 0 ? `, ${queued} queued` : ""}`;
  }
  const took = toDuration(Date.parse(last.ended_at) - Date.parse(last.started_at));
  return `${last.error_code ?? last.finish_reason ?? status} ${took}`;
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1) return limit;
  throw new InvalidArgumentError("The limit must be a whole number, at least 1.");
}
