import { Command } from "../vendor/commander.ts";
import type { Client } from "../../client/client-api.ts";
import { AgentError, isInstance } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { OperationDescriptor } from "../../protocol/answers/descriptor.ts";
import { closest } from "../closest.ts";
import { addConnectionOptions, requireAgent, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { TurnPrinter } from "../print/progress.ts";
import { toTypeText } from "../print/schema-type.ts";
import { stderr, stdout, styled } from "../print/terminal.ts";
import { askFields } from "../prompt/ask.ts";
import { canAsk } from "../prompt/prompts.ts";
import { toPromptFields } from "../prompt/questions.ts";
import { missingFields, readInput } from "./input.ts";
import { answerHere, runCall } from "./run-call.ts";
import { addRequestOptions, toCallOptions } from "./request-options.ts";
import type { RequestOptions } from "./request-options.ts";

/** `troupe call`: calls an operation of an agent and prints its output. */
export function callCommand(): Command {
  return addRequestOptions(addConnectionOptions(new Command("call")))
    .description("Calls an operation of an agent, asks its questions, and prints its output as JSON.")
    .usage("[options] <agent> <operation> [input | --field value …]")
    .argument("<agent>")
    .argument("<operation>")
    .argument("[input...]", "JSON, @FILE, - for standard input, or one option per field of the schema")
    .passThroughOptions()
    .addHelpText(
      "after",
      `
Options stand before the agent; what follows the operation is its input. What the input lacks is asked for.

Examples:
  troupe call payments pay '{"to":"bob","amount":3}'
  troupe call payments pay --to bob --amount 3
  troupe call --json echo repeat @input.json | jq .type

Exit codes: 0 done, 1 the turn failed, 2 usage, 3 canceled, 4 it waits and there is no terminal to ask on,
66 unknown agent, 69 no server, 77 token.`,
    )
    .action(run);
}

async function run(
  agent: string,
  operationName: string,
  words: readonly string[],
  options: ConnectionOptions & RequestOptions,
  command: Command,
): Promise<void> {
  const progress = new TurnPrinter();
  const client = connectToServer(options, (text) => progress.aside(text));
  await talk(client, async () => {
    await requireAgent(client, agent);
    const operation = await findOperation(client, agent, operationName);
    checkOptions(command, operation, agent, words);
    const given = readInput(operation, words);
    const missing = missingFields(operation, given);
    if (missing.length > 0 && !canAsk()) {
      const names = missing.map(({ key }) => key).join(", ");
      throw new Exit(
        EXIT.usage,
        `the input of ${agent}.${operation.name} lacks ${names}`,
        toSchemaLine(operation),
      );
    }
    const asked = missing.length > 0 ? await askFields(missing) : {};
    const input = isObject(given) || given === undefined ? { ...given, ...asked } : given;

    const call = client
      .agent(agent)
      .call(operation.name, input, { ...toCallOptions(options), answer: answerHere });
    void call.runId.then(
      (runId) => stderr.line(styled("dim", `  ${agent}.${operation.name}   ${runId}`)),
      () => undefined,
    );
    const output = await runCall(call, { ...options, progress }).catch((thrown: unknown) => {
      throw isMisfit(thrown) ? new Exit(EXIT.usage, thrown.message, toSchemaLine(operation)) : thrown;
    });
    if (!options.json) stdout.json(output ?? null);
  });
}

async function findOperation(client: Client, agent: string, name: string): Promise<OperationDescriptor> {
  const { operations } = await client.agent(agent).describe();
  const found = operations.find((operation) => operation.name === name);
  if (found !== undefined) return found;
  const names = operations.map((operation) => operation.name);
  const near = closest(name, names);
  const fix = near === undefined ? `its operations: ${names.join(", ")}` : `did you mean ${near}?`;
  throw new Exit(EXIT.usage, `${agent} has no operation ${name}`, fix);
}

/** Throws if an option of the command stands among the words of the input, where it would be a field. */
function checkOptions(
  command: Command,
  { name, input_schema: schema }: OperationDescriptor,
  agent: string,
  words: readonly string[],
): void {
  const fields = new Set(toPromptFields(schema).map(({ key }) => `--${key}`));
  const misplaced = command.options.find(({ long }) => !fields.has(long ?? "") && words.includes(long ?? ""));
  if (misplaced === undefined) return;
  const { long = "", required } = misplaced;
  const option = required ? `${long} …` : long;
  throw new Exit(
    EXIT.usage,
    `${long} stands after the operation, where its input is expected`,
    `put it before the agent: troupe call ${option} ${agent} ${name} …`,
  );
}

/** Whether the server has refused the input, whose fault its message names. */
function isMisfit(thrown: unknown): thrown is AgentError {
  return isInstance(thrown, AgentError) && thrown.code === "unprocessable";
}

function toSchemaLine({ name, input_schema: schema }: OperationDescriptor): string {
  return `${name} takes ${toTypeText(schema)}`;
}
