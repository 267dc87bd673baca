import { Command, InvalidArgumentError } from "../vendor/commander.ts";
import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import type { ScheduleClient } from "../../client/schedule-client.ts";
import { addConnectionOptions, connectToSchedules, connectToServer, requireAgent, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { printTable } from "../print/table.ts";
import { stderr, stdout } from "../print/terminal.ts";
import { toTime } from "../print/text.ts";
import { parseGivenJson } from "../requests/input.ts";
import { parseId } from "../requests/request-options.ts";

interface PlaceOptions extends ConnectionOptions {
  readonly agent?: string;
  readonly key?: string;
  readonly run?: string;
}

interface MakeOptions extends ConnectionOptions {
  readonly key?: string;
  readonly run?: string;
  readonly id?: string;
  readonly input?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: number;
  readonly at?: string;
  readonly after?: number;
  readonly overlap?: "skip" | "queue";
  readonly json: boolean;
}

/** `troupe schedules`: the times at which actors get requests and messages. */
export function schedulesCommand(): Command {
  return addListOptions(new Command("schedules"))
    .description("Lists, makes and changes the times at which actors get requests and messages.")
    .addHelpText(
      "after",
      `
Make one:  troupe schedules make bank interest --key ada --cron "0 8 * * *" --input '{"percent": 1}'
Change it: make it again with its --id
Stop it:   troupe schedules pause ID, and resume; or remove

Example: troupe schedules --agent bank`,
    )
    .addCommand(addListOptions(new Command("list")).description("Lists them."))
    .addCommand(makeCommand())
    .addCommand(changeCommand("pause", "Leaves its times out until it is resumed."))
    .addCommand(changeCommand("resume", "Goes on with its times from now on."))
    .addCommand(changeCommand("run", "Sends its request now, besides its times."))
    .addCommand(changeCommand("remove", "Removes it; one of the definition of an agent can only be paused."));
}

function addPlaceOptions(command: Command): Command {
  return addConnectionOptions(command)
    .option("--agent <name>", "only of actors of this agent")
    .option("--key <key>", "only of the actor of the agent with this key")
    .option("--run <id>", "only of this run", parseId);
}

function addListOptions(command: Command): Command {
  return addPlaceOptions(command).option("--json", "print one schedule a line as JSON", false).action(list);
}

async function list({ json, ...options }: PlaceOptions & { readonly json: boolean }): Promise<void> {
  const client = connectToSchedules(options);
  const schedules = await talk(client, () => readAll(client, options));
  if (json) for (const schedule of schedules) stdout.json(schedule);
  else if (schedules.length === 0) stderr.line("there is no schedule");
  else printTable(["ID", "ACTOR", "WHAT", "WHEN", "NEXT", "LAST"], schedules.map(toRow));
}

function makeCommand(): Command {
  return addConnectionOptions(new Command("make"))
    .description("Makes a schedule of an actor, or replaces the one with the --id.")
    .argument("<agent>", "the agent of the actor")
    .argument("<operation>", "the operation or the message")
    .option("--key <key>", "the key of the actor, which is created if there is none")
    .option("--run <id>", "the run of the actor, in place of a key", parseId)
    .option("--id <id>", "an id of your own, which replaces the schedule that has it")
    .option("--input <json>", "the input as JSON; @FILE reads a file. Default {}")
    .option("--cron <fields>", "at the times of five fields: minute, hour, day, month, day of the week")
    .option("--timezone <name>", "the time zone of the fields, for example Europe/Berlin. Default UTC")
    .option("--every <seconds>", "again and again after so many seconds, 0.1 or more", parseSeconds)
    .option("--at <time>", "once, at a time as 2026-03-02T10:30:00Z")
    .option("--after <seconds>", "once, after so many seconds", parseSeconds)
    .option("--overlap <what>", "when the request of an earlier time is open: skip or queue", parseOverlap)
    .option("--json", "print the schedule as JSON", false)
    .action(make);
}

async function make(
  agent: string,
  operation: string,
  { key, run, id, input, cron, timezone, every, at, after, overlap, json, ...options }: MakeOptions,
): Promise<void> {
  const body = parseGivenJson(input, "the --input");
  const client = connectToServer(options);
  const made = await talk(client, async () => {
    await requireAgent(client, agent);
    return connectToSchedules(options).make(agent, {
      operation,
      ...(key !== undefined && { key }),
      ...(run !== undefined && { run_id: run }),
      ...(id !== undefined && { id }),
      ...(body !== undefined && { input: body }),
      ...(cron !== undefined && { cron }),
      ...(timezone !== undefined && { timezone }),
      ...(every !== undefined && { every_ms: every * 1_000 }),
      ...(at !== undefined && { at }),
      ...(after !== undefined && { after_ms: after * 1_000 }),
      ...(overlap !== undefined && { overlap }),
    });
  });
  if (json) stdout.json(made);
  else stderr.line(`schedule ${made.id} of ${actorOf(made)} ${toNext(made)}`);
}

const DONE = { pause: "paused", resume: "resumed", remove: "removed" } as const;

function changeCommand(change: keyof typeof DONE | "run", description: string): Command {
  return addPlaceOptions(new Command(change))
    .description(description)
    .argument("<id>", "its id, as the list has it")
    .action(async (id: string, options: PlaceOptions) => {
      const client = connectToSchedules(options);
      await talk(client, async () => {
        const schedule = await find(client, id, options);
        if (change === "run") {
          stderr.line(`schedule ${id} has sent request ${await client.run(schedule)}`);
          return;
        }
        const now = await client.change(schedule, change);
        stderr.line(`schedule ${id} is ${DONE[change]}${now === undefined ? "" : `, and ${toNext(now)}`}`);
      });
    });
}

/** The schedule with an id; those of several actors can have the same. */
async function find(client: ScheduleClient, id: string, options: PlaceOptions): Promise<ScheduleSummary> {
  const found = (await readAll(client, options)).filter((schedule) => schedule.id === id);
  const [only, second] = found;
  if (only === undefined) throw new Exit(EXIT.unknown, `there is no schedule ${id}`, "troupe schedules");
  if (second === undefined) return only;
  const actors = found.map(actorOf).join(", ");
  throw new Exit(
    EXIT.usage,
    `several actors have a schedule ${id}: ${actors}`,
    "add --run, or --agent and --key",
  );
}

async function readAll(
  client: ScheduleClient,
  { agent, key, run }: PlaceOptions,
): Promise<readonly ScheduleSummary[]> {
  const all: ScheduleSummary[] = [];
  for (let cursor: string | undefined; ;) {
    const { schedules, next } = await client.list({
      limit: 1_000,
      ...(agent !== undefined && { agent }),
      ...(key !== undefined && { key }),
      ...(run !== undefined && { runId: run }),
      ...(cursor !== undefined && { cursor }),
    });
    all.push(...schedules);
    cursor = next;
    if (cursor === undefined) return all;
  }
}

function toRow(schedule: ScheduleSummary): string[] {
  const { id, operation, cron, timezone = "UTC", every_ms: everyMs, at = "", paused, last } = schedule;
  const when =
    cron === undefined ? (everyMs === undefined ? at : `every ${everyMs / 1_000} s`) : `${cron} ${timezone}`;
  const next = schedule.next_at === undefined ? "-" : toTime(schedule.next_at);
  const error = last?.error === undefined ? "" : ` ${last.error.code}: ${last.error.message}`;
  return [
    id,
    actorOf(schedule),
    operation,
    when,
    paused ? "paused" : next,
    last === undefined ? "-" : toTime(last.at) + error,
  ];
}

function actorOf({ agent, key, run_id: runId }: ScheduleSummary): string {
  return `${agent} (${key ?? runId})`;
}

function toNext({ next_at: next, paused }: ScheduleSummary): string {
  if (paused) return "is paused";
  return next === undefined ? "has no time that comes" : `is next due at ${next}`;
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw new InvalidArgumentError("It is a number of seconds, 0 or more.");
}

function parseOverlap(text: string): "skip" | "queue" {
  if (text === "skip" || text === "queue") return text;
  throw new InvalidArgumentError("It is skip or queue.");
}
