import { AgentError, isInstance } from "../../errors.ts";
import { Exit } from "../exit.ts";
import { toThrownText } from "../thrown-text.ts";
import { createLog } from "./log.ts";
import type { LogFormat } from "./log.ts";
import { stderr } from "./terminal.ts";

/** Prints why something failed, and what mends it: for people, or as a line of the log. */
export function printFailure(thrown: unknown, format: LogFormat): void {
  if (format === "json") printJson(thrown);
  else printText(thrown);
}

function printText(thrown: unknown): void {
  if (isOwn(thrown)) stderr.line(`troupe: ${thrown.message}`);
  else stderr.lines(toThrownText(thrown));
  if (isInstance(thrown, Exit)) for (const line of thrown.hint) stderr.line(line);
}

function printJson(thrown: unknown): void {
  const log = createLog("json");
  if (!isOwn(thrown)) log.fault("the command failed", thrown);
  else
    log.fault(
      thrown.message,
      undefined,
      isInstance(thrown, Exit) ? { hint: thrown.hint.join("\n") || undefined } : {},
    );
}

/** Whether an error says everything by its message, so that its stack is not printed. */
function isOwn(thrown: unknown): thrown is Exit | AgentError {
  return isInstance(thrown, Exit) || isInstance(thrown, AgentError);
}
