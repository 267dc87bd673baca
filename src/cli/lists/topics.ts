import { Command } from "../vendor/commander.ts";
import type { TopicSummary } from "../../protocol/answers/topic.ts";
import { addConnectionOptions, connectToTopics, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { printTable } from "../print/table.ts";
import { stderr, stdout, styled } from "../print/terminal.ts";
import { toTime } from "../print/text.ts";
import { parseGivenJson } from "../requests/input.ts";
import { parseId } from "../requests/request-options.ts";

interface ShownOptions extends ConnectionOptions {
  readonly json: boolean;
}

interface FollowOptions extends ShownOptions {
  readonly name?: readonly string[];
  readonly newest: boolean;
}

interface PublishOptions extends ConnectionOptions {
  readonly requestId?: string;
}

/** `troupe topics`: subjects that actors publish to and subscribe to. */
export function topicsCommand(): Command {
  return addListOptions(new Command("topics"))
    .description("Lists topics, follows what is published, and publishes.")
    .addHelpText(
      "after",
      `
Publish:  troupe topics publish prices changed '{"value": 7}'
Follow:   troupe topics follow prices --name changed

Example: troupe topics show prices`,
    )
    .addCommand(addListOptions(new Command("list")).description("Lists them."))
    .addCommand(showCommand())
    .addCommand(publishCommand())
    .addCommand(followCommand());
}

function addListOptions(command: Command): Command {
  return addConnectionOptions(command).option("--json", "print one topic a line as JSON", false).action(list);
}

async function list({ json, ...options }: ShownOptions): Promise<void> {
  const client = connectToTopics(options);
  const topics = await talk(client, async () => {
    const all: TopicSummary[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await client.list({ limit: 1_000, ...(cursor !== undefined && { cursor }) });
      all.push(...page.topics);
      cursor = page.next;
      if (cursor === undefined) return all;
    }
  });
  if (json) for (const topic of topics) stdout.json(topic);
  else if (topics.length === 0) stderr.line("there is no topic");
  else printTable(["TOPIC", "MESSAGES", "UPDATED", "RUN"], topics.map(toRow));
}

function toRow({ name, messages, updated_at: updatedAt, run_id: runId = "-" }: TopicSummary): string[] {
  const names = messages === undefined ? "any" : messages.map((message) => message.name).join(", ");
  return [name, names, updatedAt === undefined ? "-" : toTime(updatedAt), runId];
}

function showCommand(): Command {
  return addConnectionOptions(new Command("show"))
    .description("Shows a topic with its subscribers, at most 1,000.")
    .argument("<topic>", "its name")
    .option("--json", "print it as JSON", false)
    .action(async (name: string, { json, ...options }: ShownOptions) => {
      const client = connectToTopics(options);
      const topic = await talk(client, () => client.get(name));
      if (json) {
        stdout.json(topic);
        return;
      }
      const { subscriber_count: count, subscribers } = topic;
      stderr.line(`topic ${name} has ${count === 1 ? "1 subscriber" : `${count} subscribers`}`);
      if (subscribers.length === 0) return;
      const rows = subscribers.map(({ agent, key = "", run_id: runId, names }) => [
        key === "" ? agent : `${agent} (${key})`,
        names.join(", "),
        runId,
      ]);
      printTable(["SUBSCRIBER", "MESSAGES", "RUN"], rows);
    });
}

function publishCommand(): Command {
  return addConnectionOptions(new Command("publish"))
    .description("Publishes something: each subscriber is told it, once and in order.")
    .argument("<topic>", "the name of the topic, which need not exist")
    .argument("<name>", "the name of the publication: a message or an operation of its subscribers")
    .argument("[body]", "its body as JSON; @FILE reads a file. Default null")
    .option(
      "--request-id <id>",
      "an id of your own, so that a repeated command has no further effect",
      parseId,
    )
    .action(async (topic: string, name: string, body: string | undefined, given: PublishOptions) => {
      const { requestId, ...options } = given;
      const value = parseGivenJson(body, "the body");
      const client = connectToTopics(options);
      const id = await talk(client, () =>
        client.publish(topic, name, value ?? null, requestId === undefined ? {} : { requestId }),
      );
      stderr.line(`published ${name} to ${topic} as ${id}`);
    });
}

function followCommand(): Command {
  return addConnectionOptions(new Command("follow"))
    .description("Prints what is published from now on, until Ctrl-C.")
    .argument("<topic>", "the name of the topic, which need not exist")
    .option("--name <names...>", "only publications with these names")
    .option("--newest", "begin with the newest publication of each name", false)
    .option("--json", "print one publication a line as JSON", false)
    .action(async (topic: string, { name: names, newest, json, ...options }: FollowOptions) => {
      const client = connectToTopics(options);
      await talk(client, async () => {
        const chosen = { ...(names && { names }), ...(newest && { newest }) };
        for await (const publication of client.subscribe(topic, chosen)) {
          const { at, name, body } = publication;
          if (json) stdout.json(publication);
          else stdout.cutLine(styled("dim", `${toTime(at)}  `), `${name} ${JSON.stringify(body)}`);
        }
      });
    });
}
