import { Command, Option } from "../vendor/commander.ts";
import type { Client } from "../../client/client-api.ts";
import { project } from "../../view/fold.ts";
import type { Event, EventOf } from "../../protocol/events/events.ts";
import { addConnectionOptions, requireServer, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { parseId } from "../requests/request-options.ts";
import type { Json } from "../../protocol/json.ts";
import { stdout, styled } from "../print/terminal.ts";
import { toDuration, toLine, toTime } from "../print/text.ts";
import { callSigns } from "../../view/run-view.ts";
import type { CallView, RunView, WaitView } from "../../view/run-view.ts";

interface Options extends ConnectionOptions {
  readonly follow: boolean;
  readonly tree: boolean;
  readonly json: boolean;
}

/** `troupe events`: what happened in a run or request. */
export function eventsCommand(): Command {
  return addConnectionOptions(new Command("events"))
    .description("Prints the events of a run or request, one line each.")
    .argument("<id>", "a run or a request", parseId)
    .option("--follow", "print new events as they happen, until the request ends or Ctrl-C", false)
    .addOption(
      new Option("--tree", "print the calls as a tree instead").default(false).conflicts(["follow", "json"]),
    )
    .option("--json", "print one event a line as JSON", false)
    .addHelpText("after", "\nExamples:\n  troupe events req_… --follow\n  troupe events run_… --tree")
    .action(run);
}

async function run(id: string, { follow, tree, json, ...options }: Options): Promise<void> {
  const client = connectToServer(options);
  await talk(client, async () => {
    await requireServer(client);
    const events: Event[] = [];
    for await (const event of read(client, id, follow)) {
      if (tree) events.push(event);
      else if (json) stdout.json(event);
      else printEvent(event);
    }
    if (tree) printTree(project(events));
  });
}

/** The events of a run or of a request: those there are, or also those that follow, of a request up to its end. */
function read(client: Client, id: string, follow: boolean): AsyncIterable<Event> {
  if (follow && !id.startsWith("run_")) return client.request(id, { patient: true });
  return client.run(id).events(follow ? { follow } : { soFar: true });
}

/** Prints an event as one line: its id, time, agent (indented by its depth), type, and what matters of it. */
function printEvent(event: Event): void {
  const agent = `${"  ".repeat(event.depth)}${event.agent}`;
  const head = `${String(event.id).padStart(5)}  ${toTime(event.ts)}  ${agent.padEnd(14)}  `;
  stdout.cutLine(styled("dim", head), `${event.type.padEnd(18)} ${toLine(matterOf(event))}`);
}

/** What matters of an event besides its type. */
function matterOf(event: Event): string {
  switch (event.type) {
    case "RequestStarted":
      return `${event.operation} ${toText(event.input)}${toQueued(event)}`;
    case "TextOutput":
    case "ReasoningOutput":
    case "ToolTextOutput":
      return JSON.stringify(event.content);
    case "ToolCall":
      return `${event.function_name} ${toText(event.args)}`;
    case "ToolResult":
      return `${event.function_name} ${event.text_result}`;
    case "ToolError":
      return `${event.function_name} ${event.code}: ${event.content}`;
    case "WaitForInput":
      if (event.question !== undefined) return `${event.question} (for ${event.approvers?.join(" or ")})`;
      return Object.entries(event.request_keys)
        .map(([key, question]) => `${key}: ${question}`)
        .join(" · ");
    case "ResumeWithInput":
      return toText(event.request_keys);
    case "RequestCompleted":
      return event.error === undefined
        ? `${event.finish_reason} ${toText(event.output ?? event.result ?? null)}`
        : `${event.error.code}: ${event.error.message}`;
    default:
      return toRest(event);
  }
}

/** How long a request was queued. */
function toQueued({ ts, accepted_at: accepted }: EventOf<"RequestStarted">): string {
  return accepted === undefined ? "" : ` (queued ${toDuration(Date.parse(ts) - Date.parse(accepted))})`;
}

/** The fields of an event that are its own. */
function toRest(event: Event): string {
  return Object.entries(event)
    .filter(([name]) => !COMMON.has(name))
    .map(([name, value]) => `${name}=${toText(value as Json)}`)
    .join(" ");
}

const COMMON: ReadonlySet<string> = new Set([
  "agent",
  "depth",
  "id",
  "request_id",
  "role",
  "run_id",
  "ts",
  "wait_id",
  "type",
]);

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Prints the calls of a run as a tree, one line each. */
function printTree(view: RunView): void {
  for (const turn of view.turns) {
    const root = view.calls.get(turn.root);
    if (root !== undefined) printCall(view, root, "", "");
  }
}

function printCall(view: RunView, call: CallView, lead: string, below: string): void {
  const wait = view.waits.find(({ call: key }) => key === call.key);
  const line = `${lead}${callSigns[call.kind]} ${toName(call, wait)}  ${toState(call, wait)}`;
  stdout.cutLine(call.outcome === "error" ? styled("red", line) : line);
  const children = call.children.flatMap((key) => view.calls.get(key) ?? []);
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1;
    printCall(view, child, `${below}${isLast ? "└ " : "├ "}`, `${below}${isLast ? "  " : "│ "}`);
  }
}

function toName({ kind, functionName, name, args }: CallView, wait: WaitView | undefined): string {
  if (wait) return toLine(Object.values(wait.questions).join(" · "));
  if (kind === "turn" && functionName !== undefined)
    return toLine(`${name}.${functionName} ${JSON.stringify(args)}`);
  const given = args === undefined ? "" : ` ${JSON.stringify(args)}`;
  return toLine(`${functionName ?? name}${given}`);
}

function toState(call: CallView, wait: WaitView | undefined): string {
  const { outcome, errorCode, startedAt, endedAt, attempt } = call;
  const state = wait?.state ?? (outcome === undefined ? "open" : (errorCode ?? outcome));
  const times = endedAt === undefined ? "" : `  ${toDuration(Date.parse(endedAt) - Date.parse(startedAt))}`;
  return `${state}${times}${attempt > 1 ? `  attempt ${attempt}` : ""}`;
}
