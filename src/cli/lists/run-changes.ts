import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Command, Option } from "../vendor/commander.ts";
import { addConnectionOptions, connectToServer, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { stderr, stdout } from "../print/terminal.ts";
import { parseEventId, parseId } from "../requests/request-options.ts";
import type { RunId } from "../../protocol/ids.ts";

/** `troupe fork`: copies a run up to the end of a turn, or to a question of the open one. */
export function forkCommand(): Command {
  return addConnectionOptions(new Command("fork"))
    .description("Creates a run with the history of another one, and prints its id.")
    .argument("<run>", "the id of the run", parseId)
    .option(
      "--after <id>",
      "the last event of the history, which ends a turn; default: the newest",
      parseEventId,
    )
    .addOption(
      new Option(
        "--wait <id>",
        "a question of the open turn: the copy continues that turn with the code that the server has now, and asks anew",
      )
        .argParser(parseEventId)
        .conflicts("after"),
    )
    .addHelpText("after", "\nExamples:\n  troupe fork run_… --after 3\n  troupe fork run_… --wait 7")
    .action(async (id: RunId, { after, wait, ...options }: ConnectionOptions & ForkOptions) => {
      const client = connectToServer(options);
      const point = after === undefined ? { waitId: wait } : { after };
      const fork = await talk(client, () => client.run(id).fork(point));
      stdout.line(fork.id);
    });
}

interface ForkOptions {
  readonly after?: number;
  readonly wait?: number;
}

/** `troupe remove`: removes a run. */
export function removeCommand(): Command {
  return addConnectionOptions(new Command("remove"))
    .description("Removes an idle run with its events and files.")
    .argument("<run>", "the id of the run", parseId)
    .addHelpText("after", "\nExample: troupe remove run_…")
    .action(async (id: RunId, options: ConnectionOptions) => {
      const client = connectToServer(options);
      await talk(client, () => client.run(id).remove());
      stderr.line(`${id} is removed`);
    });
}

/** `troupe artifact`: downloads a file. */
export function artifactCommand(): Command {
  return addConnectionOptions(new Command("artifact"))
    .description("Downloads a file that an agent made or that a request brought.")
    .argument("<id>", "the id of the file", parseId)
    .option("-o, --output <file>", "where to write it; default: standard output, on a terminal only a text")
    .addHelpText("after", "\nExample: troupe artifact art_… -o moon.pdf")
    .action(download);
}

async function download(
  id: string,
  { output, ...options }: ConnectionOptions & { readonly output?: string },
): Promise<void> {
  const client = connectToServer(options);
  const response = await talk(client, () => client.artifact(id));
  const { body, headers } = response;
  if (body === null) return;
  const isShown = output === undefined && stdout.isTTY;
  const type = headers.get("content-type") ?? "unknown";
  if (isShown && !TEXT.test(type)) {
    const fact = `${id} is not a text, so it is not written to a terminal: its type is ${type}`;
    throw new Exit(EXIT.usage, fact, `troupe artifact ${id} -o FILE`);
  }
  try {
    if (isShown) stdout.content(await response.text());
    else if (output === undefined) await stdout.pipe(Readable.fromWeb(body));
    else await pipeline(Readable.fromWeb(body), createWriteStream(output));
  } catch (thrown) {
    const { code, message, syscall } = thrown as NodeJS.ErrnoException;
    const isTarget = output !== undefined && syscall !== undefined;
    const fact = isTarget ? `${output} cannot be written` : "the download ended early";
    throw new Exit(EXIT.failed, `${fact}: ${code ?? message}`);
  }
}

/** The types of files that a terminal can show. */
const TEXT = /^(?:text\/|application\/json\b)/i;
