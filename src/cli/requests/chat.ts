import { Command } from "../vendor/commander.ts";
import type { Client } from "../../client/client-api.ts";
import type { RunId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import { addConnectionOptions, requireAgent, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { TurnPrinter } from "../print/progress.ts";
import { stderr, stdout, styled } from "../print/terminal.ts";
import { toLine, toWord } from "../print/text.ts";
import { canAsk, readLine } from "../prompt/prompts.ts";
import { isInstance } from "../../errors.ts";
import { addRequestOptions, toCallOptions } from "./request-options.ts";
import type { RequestOptions } from "./request-options.ts";
import { answerHere, runCall } from "./run-call.ts";

type Options = ConnectionOptions & RequestOptions;

/** How a conversation is shown. */
type Shown = Options & { readonly progress: TurnPrinter };

/** `troupe chat`: one answer of an agent, or a conversation. */
export function chatCommand(): Command {
  return addRequestOptions(addConnectionOptions(new Command("chat")))
    .description("Sends a text to an agent and prints its answer; without a text it is a conversation.")
    .argument("<agent>")
    .argument("[text...]", "the text; - reads standard input")
    .addHelpText(
      "after",
      `
In a conversation: /files lists the files, /fork continues in a copy of the run, /quit leaves.

Examples:
  troupe chat echo hello there
  troupe chat assistant`,
    )
    .action(run);
}

async function run(agent: string, words: readonly string[], options: Options): Promise<void> {
  const progress = TurnPrinter.ofChat(options.json);
  const client = connectToServer(options, (text) => progress.aside(text));
  await talk(client, async () => {
    await requireAgent(client, agent);
    if (words.length > 0) {
      const text = words.join(" ") === "-" ? await readAll() : words.join(" ");
      await say(client, agent, text, { ...options, progress });
    } else if (options.requestId !== undefined) {
      const fact = "a conversation has several requests, and --request-id names one";
      throw new Exit(EXIT.usage, fact, `troupe chat --request-id ${options.requestId} ${agent} TEXT`);
    } else if (canAsk()) {
      await converse(client, agent, { ...options, progress });
    } else {
      throw new Exit(EXIT.usage, "a conversation needs a terminal", `troupe chat ${agent} TEXT`);
    }
  });
}

/** Sends a text; the answer goes to stdout as it comes. Returns the run. */
async function say(client: Client, agent: string, text: string, options: Shown): Promise<RunId> {
  const call = client.agent(agent).chat(text, { ...toCallOptions(options), answer: answerHere });
  const reply: unknown = await runCall(call, options);
  if (!options.json && isObject(reply) && reply["output"] !== undefined) {
    stdout.json(reply["output"]);
  }
  return call.runId;
}

async function converse(client: Client, agent: string, options: Shown): Promise<void> {
  let run = options.run;
  stderr.line(styled("dim", "/files, /fork, /quit"));
  for (;;) {
    const text = await readLine();
    if (text === undefined || text === "/quit") break;
    if (text.trim() === "") continue;
    try {
      if (text === "/files") await printFiles(client, run);
      else if (text === "/fork") run = await fork(client, run);
      else run = await say(client, agent, text, { ...options, ...(run !== undefined && { run }) });
    } catch (thrown) {
      // A turn that failed or was canceled does not end the conversation.
      if (!isInstance(thrown, Exit) || !CONTINUED.has(thrown.code)) throw thrown;
      stderr.line(thrown.message);
    }
  }
  if (run !== undefined) stderr.line(styled("dim", `troupe events ${toWord(run)} --tree`));
}

const CONTINUED: ReadonlySet<number> = new Set([EXIT.failed, EXIT.canceled]);

async function readAll(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += String(chunk);
  return text;
}

async function printFiles(client: Client, run: RunId | undefined): Promise<void> {
  const files = run === undefined ? [] : (await client.run(run).view()).files;
  for (const { artifactId, name, mimeType } of files) {
    stderr.line(`  ${artifactId}  ${toLine(name)}  ${toLine(mimeType)}`);
  }
  if (files.length === 0) stderr.line("  no files");
}

async function fork(client: Client, run: RunId | undefined): Promise<RunId | undefined> {
  if (run === undefined) return undefined;
  const { id } = await client.run(run).fork();
  stderr.line(`  now in ${id}, a copy of ${run}`);
  return id;
}
