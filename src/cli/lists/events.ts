import { Command, Option } from "../vendor/commander.ts";
import type { Client } from "../../client/client-api.ts";
import { project } from "../../view/project.ts";
import type { Event } from "../../protocol/events/events.ts";
import { addConnectionOptions, checkServer, connect, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { printTree } from "../print/call-tree.ts";
import { printEvent } from "../print/event-line.ts";
import { parseId } from "../requests/request-options.ts";

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
  const client = connect(options);
  await talk(client, async () => {
    await checkServer(client);
    const events: Event[] = [];
    for await (const event of read(client, id, follow)) {
      if (tree) events.push(event);
      else if (json) console.log(JSON.stringify(event));
      else printEvent(process.stdout, event);
    }
    if (tree) printTree(process.stdout, project(events));
  });
}

/** The events of a run or of a request: those there are, or also those that follow, of a request up to its end. */
function read(client: Client, id: string, follow: boolean): AsyncIterable<Event> {
  if (follow && !id.startsWith("run_")) return client.request(id, { patient: true });
  return client.run(id).events(follow ? { follow } : { soFar: true });
}
