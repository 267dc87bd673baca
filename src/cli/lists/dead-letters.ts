import { Command } from "../vendor/commander.ts";
import type { DeadLetter } from "../../protocol/answers/dead-letter.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Client } from "../../client/client-api.ts";
import { addConnectionOptions, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { printTable } from "../print/table.ts";
import { stderr, stdout } from "../print/terminal.ts";
import { toTime } from "../print/text.ts";
import { parseId } from "../requests/request-options.ts";

interface ListOptions extends ConnectionOptions {
  readonly json: boolean;
}

interface ChoiceOptions extends ConnectionOptions {
  readonly all: boolean;
}

/** `troupe dead-letters`: what actors were told without effect. */
export function deadLettersCommand(): Command {
  return addListOptions(new Command("dead-letters"))
    .description(
      "Lists what actors were told without effect, because it was refused or its turn has failed. TROUPE_TOKEN must be an operator's.",
    )
    .addHelpText(
      "after",
      "\nSend one again: troupe dead-letters resend REQUEST\nRemove it: troupe dead-letters dismiss REQUEST\n\nExample: troupe dead-letters --json",
    )
    .addCommand(
      addListOptions(new Command("list")).description(
        "Lists them: at most 1,000, those of the run that was changed last first.",
      ),
    )
    .addCommand(actCommand("resend"))
    .addCommand(actCommand("dismiss"));
}

function addListOptions(command: Command): Command {
  return addConnectionOptions(command)
    .option("--json", "print one dead letter a line as JSON", false)
    .action(list);
}

async function list({ json, ...options }: ListOptions): Promise<void> {
  const client = connectToServer(options);
  const letters = await talk(client, () => client.deadLetters());
  if (json) for (const letter of letters) stdout.json(letter);
  else if (letters.length === 0) stderr.line("there is no dead letter");
  else printTable(["REQUEST", "FOR", "WHAT", "WHY", "AT", "INPUT"], letters.map(toRow));
}

/** What is done with dead letters: they are sent again, once, or removed. */
const ACTS = {
  resend: { description: "Sends a dead letter again, once, however often it is asked.", done: "sent again" },
  dismiss: { description: "Removes a dead letter.", done: "dismissed" },
} as const;

function actCommand(act: keyof typeof ACTS): Command {
  const { description, done } = ACTS[act];
  return addConnectionOptions(new Command(act))
    .description(description)
    .argument("[request]", "the id of its request, as the list has it", parseId)
    .option("--all", "all that the list has", false)
    .action(async (id: RequestId | undefined, { all, ...options }: ChoiceOptions) => {
      const client = connectToServer(options);
      await talk(client, async () => {
        const chosen = await choose(client, id, all);
        for (const { run_id: runId, request_id: requestId } of chosen) {
          const run = client.run(runId);
          const now = act === "resend" ? await run.sendAgain(requestId) : await run.dismiss(requestId);
          stderr.line(`${requestId} is ${done}${now === undefined ? "" : ` as request ${now}`}`);
        }
        if (chosen.length === 0) stderr.line("there is no dead letter");
      });
    });
}

/** The letter with an id, or all. */
async function choose(
  client: Client,
  id: RequestId | undefined,
  all: boolean,
): Promise<readonly DeadLetter[]> {
  if (all === (id !== undefined))
    throw new Exit(EXIT.usage, "give the id of a request, or --all", "troupe dead-letters list");
  const letters = await client.deadLetters();
  if (all) return letters;
  const letter = letters.find(({ request_id: requestId }) => requestId === id);
  if (letter !== undefined) return [letter];
  throw new Exit(EXIT.unknown, `there is no dead letter ${id ?? ""}`, "troupe dead-letters list");
}

function toRow(letter: DeadLetter): string[] {
  const { request_id: id, agent, key, to_run_id: to, operation, kind, error, at, input } = letter;
  const place = key ?? to;
  return [
    id,
    place === undefined ? agent : `${agent} (${place})`,
    operation,
    error === undefined ? kind : `${kind}: ${error.code}: ${error.message}`,
    toTime(at),
    JSON.stringify(input),
  ];
}
