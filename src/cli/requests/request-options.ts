import { InvalidArgumentError } from "../vendor/commander.ts";
import type { Command } from "../vendor/commander.ts";
import type { AgentCallOptions } from "../../client/call-api.ts";
import { isId } from "../../protocol/ids.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** The options of a command that sends a request. */
export interface RequestOptions {
  readonly run?: RunId;
  readonly key?: string;
  readonly requestId?: RequestId;
  readonly json: boolean;
  readonly cancelOnExit: boolean;
}

/** Adds the options of a command that sends a request. */
export function addRequestOptions(command: Command): Command {
  return command
    .option("--run <id>", "the run to continue", parseId)
    .option("--key <key>", "the name of a run of the agent: continues it, or creates it")
    .option("--request-id <id>", "an id of your own: sent twice, it has one effect", parseId)
    .option("--json", "print one event a line as JSON, and nothing else", false)
    .option("--cancel-on-exit", "Ctrl-C cancels the turn; without it the turn continues", false);
}

export function toCallOptions({ run, key, requestId }: RequestOptions): AgentCallOptions {
  return {
    ...(run !== undefined && { runId: run }),
    ...(key !== undefined && { key }),
    ...(requestId !== undefined && { requestId }),
  };
}

/** An id as the protocol has it. */
export function parseId(text: string): string {
  if (isId(text)) return text;
  throw new InvalidArgumentError("An id has 1 to 128 letters, digits, _ or -.");
}

/** The id of an event; 0 stands for the start of a run. */
export function parseEventId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("The id of an event is a whole number.");
}
