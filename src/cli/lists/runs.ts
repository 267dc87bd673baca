import { Command, InvalidArgumentError, Option } from "../vendor/commander.ts";
import type { Client, RunsQuery } from "../../client/client-api.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import type { RunId } from "../../protocol/ids.ts";
import { addConnectionOptions, requireAgent, requireServer, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { costText } from "../../view/cost-text.ts";
import { printTable } from "../print/table.ts";
import { stderr, stdout } from "../print/terminal.ts";
import { toDuration, toLine, toTime } from "../print/text.ts";
import { parseId } from "../requests/request-options.ts";

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
    .option("-q, --query <text>", "words of the first input or the newest output, or how they or an id begin")
    .option("--agent <name>", "only runs of this agent")
    .addOption(new Option("--status <status>", "which runs").choices(["idle", "running", "waiting", "held"]))
    .option("--limit <number>", "at most so many", parseLimit, 20)
    .addOption(
      new Option("--watch", "print each run again when it changes, until Ctrl-C")
        .default(false)
        .conflicts(["query", "status"]),
    )
    .option("--json", "print one run a line as JSON", false)
    .addHelpText(
      "after",
      "\nExamples:\n  troupe runs -q bob\n  troupe runs --status held\n  troupe runs retry",
    )
    .action(run)
    .addCommand(retryCommand())
    .addCommand(endCommand())
    .addCommand(resumeCommand());
}

/** `troupe runs retry`: tries held turns again with the code that is served now. */
function retryCommand(): Command {
  return addConnectionOptions(new Command("retry"))
    .description("Tries held turns again with the code that is served now.")
    .argument("[run]", "the id of one run; default: all", parseId)
    .option("--agent <name>", "only runs of this agent")
    .action(async (id: RunId | undefined, options: ConnectionOptions & { readonly agent?: string }) => {
      const client = connectToServer(options);
      const ids = id === undefined ? await heldRuns(client, options.agent) : [id];
      for (const each of ids) await talk(client, () => client.run(each).retry());
      stderr.line(
        ids.length === 0
          ? "no turn is held"
          : `${ids.length === 1 ? "1 turn is" : `${ids.length} turns are`} tried`,
      );
    });
}

/** The runs whose turn is held. All are read first: the list changes while they are tried. */
async function heldRuns(client: Client, agent: string | undefined): Promise<readonly RunId[]> {
  return talk(client, async () => {
    const ids: RunId[] = [];
    for (let cursor: string | undefined; ;) {
      const query = { status: "held", limit: 1_000, ...(agent !== undefined && { agent }) } as const;
      const page = await client.runs({ ...query, ...(cursor !== undefined && { cursor }) });
      ids.push(...page.runs.map(({ run_id: runId }) => runId));
      cursor = page.next;
      if (cursor === undefined) return ids;
    }
  });
}

/** `troupe runs end`: ends a held turn with the reason as its error. */
function endCommand(): Command {
  return addConnectionOptions(new Command("end"))
    .description("Ends the held turn of a run, with the reason as its error.")
    .argument("<run>", "the id of the run", parseId)
    .action(async (id: RunId, options: ConnectionOptions) => {
      const client = connectToServer(options);
      const { request_id: requestId, error } = await talk(client, () => client.run(id).end());
      stderr.line(`request ${requestId} has ended with ${error?.code ?? "an error"}`);
    });
}

/** `troupe runs resume`: has an actor take requests again that its supervisor has stopped. */
function resumeCommand(): Command {
  return addConnectionOptions(new Command("resume"))
    .description("Has the actor of a run take requests again that its supervisor has stopped.")
    .argument("<run>", "the id of the run", parseId)
    .action(async (id: RunId, options: ConnectionOptions) => {
      const client = connectToServer(options);
      await talk(client, () => client.run(id).resume());
      stderr.line(`run ${id} takes requests again`);
    });
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
    else printTable(["RUN", "AGENT", "STATE", "TURNS", "COST", "UPDATED", "INPUT"], runs.map(toRow));
  });
}

function toRow(row: RunSummary): string[] {
  const { run_id: id, agent, turns, updated_at: updated, initial_input: input, key, usage } = row;
  return [
    key === undefined ? id : `${id} (${key})`,
    agent,
    toState(row),
    String(turns),
    usage === undefined ? "" : costText(usage),
    toTime(updated),
    typeof input === "string" ? input : JSON.stringify(input),
  ];
}

/** What a run does, until when, and how many requests wait for it; or how its last turn ended. */
function toState({ status, last_turn: last, wake_at: wakeAt, queued }: RunSummary): string {
  if (status === "held" && last?.held)
    return `held: ${last.held.code}${last.held.at === undefined ? "" : ` at ${last.held.at}`}`;
  if (status === "running" && last?.canceling) return "canceling";
  if (status === "idle" && last?.stopped)
    return `stopped since ${toTime(last.stopped.since)}: ${last.error_code ?? "error"}`;
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
