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
import { printOperation, toTypeText } from "../print/operation.ts";
import { printTable } from "../print/table.ts";
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
What follows the operation is its input: JSON, or its fields as options. What the input lacks is asked for.

Examples:
  troupe call payments pay '{"to":"bob","amount":3}'
  troupe call payments pay --to bob --amount 3
  troupe call echo repeat @input.json --json | jq .type
  troupe call payments pay --help

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
    if (isHelp(operationName)) {
      for (const operation of (await client.agent(agent).describe()).operations) printOperation(operation);
      return;
    }
    const operation = await findOperation(client, agent, operationName);
    const fields = new Set(toPromptFields(operation.input_schema).map(({ key }) => `--${key}`));
    if (words.some((word) => isHelp(word) && !fields.has(word))) {
      printHelp(operation);
      return;
    }
    const given = readInput(operation, takeOptions(command, words, fields));
    const request = command.opts<RequestOptions>();
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
      .call(operation.name, input, { ...toCallOptions(request), answer: answerHere });
    void call.runId.then(
      (runId) => stderr.line(styled("dim", `  ${agent}.${operation.name}   ${runId}`)),
      () => undefined,
    );
    const output = await runCall(call, { ...request, progress }).catch((thrown: unknown) => {
      throw isMisfit(thrown) ? new Exit(EXIT.usage, thrown.message, toSchemaLine(operation)) : thrown;
    });
    if (!request.json) stdout.json(output ?? null);
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

/** The help of an operation: what it takes, and each field as an option. */
function printHelp(operation: OperationDescriptor): void {
  printOperation(operation);
  const { properties, required } = operation.input_schema ?? {};
  if (!isObject(properties) || Object.keys(properties).length === 0) return;
  stdout.line();
  const isRequired = (key: string): boolean => Array.isArray(required) && required.includes(key);
  printTable(
    ["OPTION", "TYPE", "MEANING"],
    Object.entries(properties).map(([key, schema]) => [
      `--${key}`,
      toTypeText(schema) + (isRequired(key) ? "" : ", optional"),
      isObject(schema) && typeof schema["description"] === "string" ? schema["description"] : "",
    ]),
  );
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

/**
 * Takes the options of the command from the words behind the operation, and returns the others. A field of the input
 * comes before an option of the same name. Throws for an option of the connection, which exists already.
 */
function takeOptions(
  command: Command,
  words: readonly string[],
  fields: ReadonlySet<string>,
): readonly string[] {
  const ofConnection = addConnectionOptions(new Command()).options.map(({ long }) => long);
  const input: string[] = [];
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [name = ""] = word.split("=", 1);
    const option = fields.has(name) ? undefined : command.options.find(({ long }) => long === name);
    if (option === undefined) {
      input.push(word);
    } else if (ofConnection.includes(name)) {
      throw new Exit(
        EXIT.usage,
        `${name} stands after the operation, where its input is expected`,
        `put it before the agent: troupe call ${name} … ${command.args.slice(0, 2).join(" ")}`,
      );
    } else {
      const next = option.required && name === word ? left.splice(0, 1) : [];
      command.parseOptions([word, ...next]);
    }
  }
  return input;
}

/** Whether the server has refused the input, whose fault its message names. */
function isMisfit(thrown: unknown): thrown is AgentError {
  return isInstance(thrown, AgentError) && thrown.code === "unprocessable";
}

function toSchemaLine({ name, input_schema: schema }: OperationDescriptor): string {
  return `${name} takes ${toTypeText(schema)}`;
}
