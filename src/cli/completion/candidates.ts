import type { Command } from "../vendor/commander.ts";
import type { Client } from "../../client/client-api.ts";
import { connectToServer } from "../connect.ts";
import { behindCommand, isNamed, takesValue } from "../leading-options.ts";

/** What can stand in place of the last word, from the commands of the program and the running server. */
export async function findCandidates(program: Command, words: readonly string[]): Promise<readonly string[]> {
  const typed = words.at(-1) ?? "";
  const before = behindCommand(words.slice(0, -1), program);
  const command = program.commands.find((known) => known.name() === before[0]);
  const given = before.filter(
    (word, at) => at > 0 && !word.startsWith("-") && !takesValue(command?.options ?? [], before[at - 1]),
  );
  const candidates = await toCandidates(program, command, given, before, typed);
  return candidates.filter((candidate) => candidate.startsWith(typed) && PLAIN.test(candidate));
}

/** What a shell takes as it is. bash expands every other word that completion gives it, and so runs commands in it. */
const PLAIN = /^[\w.:@/=-]+$/;

async function toCandidates(
  program: Command,
  command: Command | undefined,
  given: readonly string[],
  before: readonly string[],
  typed: string,
): Promise<readonly string[]> {
  if (command === undefined) {
    return program.commands.filter((known) => known.name() !== "complete").map((known) => known.name());
  }
  const options = command.options.flatMap(({ long }) => long ?? []);
  if (typed.startsWith("-")) return [...options, ...(command.name() === "call" ? await fieldsOf(given) : [])];
  const last = before.at(-1);
  if (takesValue(command.options, last))
    return command.options.find((option) => isNamed(option, last))?.argChoices ?? [];
  const argument = command.registeredArguments[given.length];
  if (argument?.argChoices !== undefined) return argument.argChoices;
  const source = SOURCES[`${command.name()} ${given.length}`];
  return source === undefined ? [] : ask((client) => source(client, given));
}

type Source = (client: Client, given: readonly string[]) => Promise<readonly string[]>;

const agents: Source = async (client) => (await client.agents()).map(({ name }) => name);
const runs: Source = async (client) => (await client.runs({ limit: 50 })).runs.map((run) => run.run_id);
const waiting: Source = async (client) =>
  ((await client.waits({ limit: 50 }))?.waits ?? []).map((wait) => wait.requestId);
const operations: Source = async (client, [agent = ""]) =>
  (await client.agent(agent).describe()).operations.map(({ name }) => name);

/** Where the candidates of an argument come from, by command and position. */
const SOURCES: Readonly<Record<string, Source>> = {
  "acp 0": agents,
  "call 0": agents,
  "call 1": operations,
  "chat 0": agents,
  "describe 0": agents,
  "cancel 0": waiting,
  "events 0": runs,
  "fork 0": runs,
  "remove 0": runs,
  "resume 0": waiting,
};

/** The fields of the operation's input, as options. */
function fieldsOf([agent, operation]: readonly string[]): Promise<readonly string[]> {
  if (agent === undefined || operation === undefined) return Promise.resolve([]);
  return ask(async (client) => {
    const { operations: known } = await client.agent(agent).describe();
    const schema = known.find(({ name }) => name === operation)?.input_schema;
    return Object.keys((schema?.["properties"] ?? {}) as object).map((key) => `--${key}`);
  });
}

/** How long a completion may wait for the server. */
const ANSWER_MS = 1_000;

/** What a server answers in time; nothing if it does not. */
async function ask(run: (client: Client) => Promise<readonly string[]>): Promise<readonly string[]> {
  const { promise: late, resolve } = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(() => resolve([]), ANSWER_MS);
  try {
    return await Promise.race([run(connectToServer({})).catch(() => []), late]);
  } finally {
    clearTimeout(timer);
  }
}
