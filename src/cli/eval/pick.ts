import type { Client } from "../../client/client-api.ts";
import type { Wire } from "../../client/wire/wire.ts";
import { AgentError, isInstance } from "../../errors.ts";
import { toCase } from "../../eval/case.ts";
import type { CaseTurn, EvalCase } from "../../eval/case.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { isObject } from "../../protocol/json.ts";
import type { RecordedRun } from "../../runtime/recording.ts";
import { addConnectionOptions, connectToServer, connectWire, requireAgent, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { parseTime, parseWholeNumber } from "../option-values.ts";
import { stderr } from "../print/terminal.ts";
import { parseId } from "../requests/request-options.ts";
import { Command, InvalidArgumentError, Option } from "../vendor/commander.ts";
import { addCases, casesFile, loadEvaluation, parseDataSet } from "./data-set.ts";

interface Options extends ConnectionOptions {
  readonly agent?: string;
  readonly run: readonly RunId[];
  /** In milliseconds since 1970. */
  readonly since?: number;
  readonly where: readonly Condition[];
  readonly limit: number;
}

/** What a picked run must have. */
interface Condition {
  readonly field: string;
  readonly value: string;
}

const AFTER_HELP = `
--where takes finish_reason=error, error=CODE, operation=NAME, tool=NAME, and metadata.FIELD=VALUE of the run. The first three
are of the last turn. It may be given several times: all must hold.

Runs that still work are left out, and what a person has canceled. The file has inputs, answers of people, what models said and
what tools returned: evals/NAME.ts can take out of it what must not be in a file (redact).

Example:
  troupe eval pick refunds --agent desk --since 2026-11-01 --where tool=refund.start --limit 100`;

/** `troupe eval pick`: copies runs of a server into a data set. */
export function pickCommand(): Command {
  return addConnectionOptions(new Command("pick"))
    .description("Copies runs of a server into a data set. Those that it has are copied again.")
    .argument("<name>", "the data set", parseDataSet)
    .option("--agent <name>", "runs of this agent, the newest first")
    .addOption(
      new Option("--run <id>", "this run; may be given several times")
        .argParser((text: string, ids: readonly RunId[]) => [...ids, parseId(text) as RunId])
        .default([], "none"),
    )
    .addOption(
      new Option("--since <time>", "only runs that have changed since, for example 2030-01-31").argParser(
        parseTime,
      ),
    )
    .addOption(
      new Option("--where <condition>", "only runs for which it holds")
        .argParser((text: string, all: readonly Condition[]) => [...all, parseCondition(text)])
        .default([], "none"),
    )
    .option("--limit <number>", "at most so many", parseWholeNumber, 100)
    .addHelpText("after", AFTER_HELP)
    .action(pick);
}

async function pick(name: string, options: Options): Promise<void> {
  const { agent, run: ids, where, limit } = options;
  if (agent === undefined && ids.length === 0)
    throw new Exit(EXIT.usage, "nothing says which runs to pick", "give --agent NAME or --run ID");
  const client = connectToServer(options);
  const wire = connectWire(options);
  const { redact = (one: EvalCase) => one } = await loadEvaluation(name);
  const cases: EvalCase[] = [];
  await talk(client, async () => {
    if (agent !== undefined) await requireAgent(client, agent);
    const found = ids.length > 0 ? ids : runsOf(client, options);
    for await (const id of found) {
      const one = await readCase(wire, id, ids.length > 0);
      if (one === undefined || !where.every((condition) => holds(one, condition))) continue;
      cases.push(redact(one));
      if (cases.length === limit) break;
    }
  });
  if (cases.length === 0) throw new Exit(EXIT.unknown, "no run was picked", "troupe runs lists them");
  const all = await addCases(name, cases);
  stderr.line(`${cases.length} picked; ${casesFile(name)} has ${all} case${all === 1 ? "" : "s"}`);
  const files = cases.filter(({ turns }) => turns.some((turn) => (turn.files ?? 0) > 0)).length;
  if (files > 0)
    stderr.line(
      `${files} had files, which are not in a data set: their prompts will differ, so a model is asked`,
    );
}

/** The runs of an agent that do not work, the one that was changed last first. */
async function* runsOf(client: Client, { agent, since }: Options): AsyncGenerator<RunId> {
  let cursor: string | undefined;
  do {
    // oxlint-disable-next-line no-await-in-loop -- pages follow one another
    const page = await client.runs({
      limit: 100,
      status: "idle",
      ...(agent !== undefined && { agent }),
      ...(cursor !== undefined && { cursor }),
    });
    for (const { run_id: runId, updated_at: updatedAt } of page.runs) {
      if (since !== undefined && Date.parse(updatedAt) < since) return;
      yield runId;
    }
    cursor = page.next;
  } while (cursor !== undefined);
}

/** A run as a case; `undefined` if it has no turn to do again. */
async function readCase(wire: Wire, runId: RunId, isNamed: boolean): Promise<EvalCase | undefined> {
  try {
    const { json } = await wire.ask("GET", `/inspect/runs/${encodeURIComponent(runId)}/recording`);
    const one = toCase(json as RecordedRun);
    return one.turns.length === 0 ? undefined : one;
  } catch (thrown) {
    // A run that is gone, or whose beginning is, or that is too large, is no case.
    if (
      !isNamed &&
      isInstance(thrown, AgentError) &&
      ["gone", "not_found", "too_large"].includes(thrown.code)
    )
      return undefined;
    throw thrown;
  }
}

function holds({ turns, metadata = {} }: EvalCase, { field, value }: Condition): boolean {
  const last = turns.at(-1);
  if (field === "finish_reason") return last?.expected?.finish_reason === value;
  if (field === "error") return last?.expected?.error?.code === value;
  if (field === "operation") return last?.operation === value;
  if (field === "tool") return turns.some((turn) => calls(turn, value));
  const path = field.split(".").slice(1);
  const found = path.reduce<Json | undefined>(
    (object, name) => (isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined),
    metadata,
  );
  return typeof found === "string" ? found === value : found !== undefined && JSON.stringify(found) === value;
}

function calls({ calls: made = [] }: CaseTurn, tool: string): boolean {
  return made.some(({ name }) => name === tool);
}

const FIELD = /^(?:finish_reason|error|operation|tool|metadata(?:\.[^.=]+)+)$/;

function parseCondition(text: string): Condition {
  const at = text.indexOf("=");
  const field = text.slice(0, Math.max(at, 0));
  if (!FIELD.test(field))
    throw new InvalidArgumentError(
      "It must be finish_reason=…, error=…, operation=…, tool=… or metadata.FIELD=….",
    );
  return { field, value: text.slice(at + 1) };
}
