import { AgentError, isInstance } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import { Unavailable } from "../../ports/event-log.ts";
import { EXIT, Exit } from "../exit.ts";
import type { ExitCode } from "../exit.ts";

/**
 * Turns what a log refuses into an exit with a line that names the fix. A command can give exit codes of its own to some
 * errors.
 */
export async function explained<Result>(
  work: () => Promise<Result>,
  codes: Partial<Record<ErrorCode, ExitCode>> = {},
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    if (isInstance(thrown, Unavailable)) throw new Exit(EXIT.unavailable, thrown.message);
    if (!isInstance(thrown, AgentError)) throw thrown;
    const { code, message, details } = thrown;
    const usual = code === "unavailable" ? EXIT.unavailable : EXIT.refused;
    throw new Exit(codes[code] ?? usual, message, details.hint);
  }
}
