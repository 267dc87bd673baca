import { Command } from "../vendor/commander.ts";
import type { Client } from "../../client/client-api.ts";
import type { OpenWait } from "../../client/call-api.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { addConnectionOptions, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { TurnPrinter } from "../print/progress.ts";
import { stdout } from "../print/terminal.ts";
import { toLine, toWord } from "../print/text.ts";
import { askFields } from "../prompt/ask.ts";
import { canAsk } from "../prompt/prompts.ts";
import { parseField, toPromptFields } from "../prompt/questions.ts";
import { parseEventId, parseId } from "./request-options.ts";
import { answerHere, runCall } from "./run-call.ts";

/** `troupe resume`: answers a question and follows the turn. */
export function resumeCommand(): Command {
  return addConnectionOptions(new Command("resume"))
    .description("Answers the open question of a request or run, and follows the turn to its end.")
    .argument("<id>", "a request or a run", parseId)
    .argument("[key=value...]", "the values; without any you are asked")
    .option("--wait <wait_id>", "which question, if several are open", parseEventId)
    .option("--json", "print one event a line as JSON, and nothing else", false)
    .option("--no-follow", "return when the answer is in the log")
    .addHelpText("after", "\nExample: troupe resume pay-1 approved=true")
    .action(run);
}

interface Options extends ConnectionOptions {
  readonly wait?: number;
  readonly json: boolean;
  readonly follow: boolean;
}

async function run(id: string, pairs: readonly string[], options: Options): Promise<void> {
  let progress = new TurnPrinter();
  const client = connectToServer(options, (text) => progress.aside(text));
  await talk(client, async () => {
    const call = client.request(await findRequest(client, id));
    let isChat = false;
    for await (const event of call) isChat ||= event.type === "RequestStarted" && event.operation === "chat";
    const wait = choose(id, call.waits, options.wait);
    if (wait.question !== undefined) {
      const roles = wait.approvers?.join(" or ");
      throw new Exit(
        EXIT.failed,
        `only ${roles} may answer: ${wait.question}`,
        "troupe waits lists all questions",
      );
    }
    const fields = toPromptFields(wait.schema, wait.questions);
    if (pairs.length === 0 && !canAsk()) {
      const keys = fields.map(({ key }) => `${toWord(key)}=…`).join(" ");
      throw new Exit(
        EXIT.usage,
        "no values are given, and there is no terminal to ask on",
        `troupe resume ${id} ${keys}`,
      );
    }
    await wait.answer(pairs.length === 0 ? await askFields(fields) : readPairs(pairs, wait));
    if (!options.follow) return;
    const followed = client.request(call.requestId, { answer: answerHere });
    if (isChat) progress = TurnPrinter.ofChat(options.json);
    const output = await runCall(followed, { json: options.json, cancelOnExit: false, progress });
    // The text of a chat is printed; it can have a value besides.
    if (!options.json && (!isChat || isObject(output))) stdout.json(output ?? null);
  });
}

/** The request that an id means: its own, or the one of a run that waits. */
async function findRequest(client: Client, id: string): Promise<RequestId> {
  if (!id.startsWith("run_")) return id;
  const { waits } = await client.run(id).view();
  const [open] = waits.filter(({ state }) => state === "open");
  if (open === undefined) throw new Exit(EXIT.failed, `${id} has no open question`);
  return open.requestId;
}

function choose(id: string, waits: readonly OpenWait[], wanted: number | undefined): OpenWait {
  const [first, ...others] = wanted === undefined ? waits : waits.filter(({ waitId }) => waitId === wanted);
  const lines = waits.map(
    ({ waitId, questions, question }) =>
      `  --wait ${waitId}  ${toLine(question ?? Object.values(questions).join(" · "))}`,
  );
  if (first === undefined) {
    const fact = `${id} has no open question${wanted === undefined ? "" : ` ${wanted}`}`;
    throw new Exit(EXIT.failed, fact, waits.length === 0 ? "troupe waits lists them" : lines);
  }
  if (others.length === 0) return first;
  throw new Exit(EXIT.usage, `${id} has several open questions`, lines);
}

/** The values of `key=value` words, read as the schema says; what has no field is JSON, or else a text. */
function readPairs(pairs: readonly string[], { schema, questions }: OpenWait): JsonObject {
  const fields = new Map(toPromptFields(schema, questions).map((field) => [field.key, field]));
  const values: Record<string, Json> = {};
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw new Exit(EXIT.usage, `${pair} is not key=value`);
    const [key, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const field = fields.get(key);
    if (field === undefined) {
      throw new Exit(EXIT.usage, `the question has no ${key}`, `it has ${[...fields.keys()].join(", ")}`);
    }
    // Without a schema a value can be any JSON, and a text needs no quotes.
    const kind = schema === undefined ? ({ type: "json" } as const) : field.kind;
    const parsed = parseField({ kind }, text);
    if ("problem" in parsed && schema !== undefined) throw new Exit(EXIT.usage, `${pair}: ${parsed.problem}`);
    values[key] = "value" in parsed ? parsed.value : text;
  }
  return values;
}
