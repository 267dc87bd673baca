import { Command, InvalidArgumentError } from "../vendor/commander.ts";
import { isObject } from "../../protocol/json.ts";
import { addConnectionOptions, connectWire, talk } from "../connect.ts";
import type { ConnectionOptions } from "../connect.ts";
import { stderr, stdout } from "../print/terminal.ts";
import { gather } from "../serve/server-options.ts";
import { parseEventId, parseId } from "./request-options.ts";

interface Options extends ConnectionOptions {
  readonly wait?: number;
  readonly for?: string;
  readonly role: readonly string[];
  readonly hours?: number;
}

/** `troupe answer-link`: an address at which a question can be answered without an account. */
export function answerLinkCommand(): Command {
  return addConnectionOptions(new Command("answer-link"))
    .description("Prints an address at which a question of a request can be answered without an account.")
    .argument("<request>", "the id of the request", parseId)
    .option("--wait <id>", "which question; default: the oldest open one", parseEventId)
    .option("--for <name>", "the person it is for, whose name others read who come later")
    .option("--role <name>", "a role that its holder has for this answer; repeatable", gather, [])
    .option("--hours <number>", "how long it works; default: seven days", parseHours)
    .addHelpText("after", "\nExample: troupe answer-link req_… --for Ann --hours 24")
    .action(async (request: string, { wait, for: name, role, hours, ...options }: Options) => {
      const wire = connectWire(options);
      const body = {
        request_id: request,
        ...(wait !== undefined && { wait_id: wait }),
        ...(name !== undefined && { name }),
        ...(role.length > 0 && { roles: role }),
        ...(hours !== undefined && { expires_ms: hours * HOUR_MS }),
      };
      const { json } = await talk(wire, () => wire.ask("POST", "/answer-links", { body }));
      const path = isObject(json) ? json["path"] : undefined;
      stdout.line(`${new URL(wire.url).origin}${String(path)}`);
      stderr.line("everyone who has this address can answer; give it only to the person whom you ask");
    });
}

const HOUR_MS = 3_600_000;

function parseHours(text: string): number {
  const hours = Number(text);
  if (text.trim() !== "" && hours > 0 && hours <= 8_760) return hours;
  throw new InvalidArgumentError("The hours must be a number above 0 and up to 8760.");
}
