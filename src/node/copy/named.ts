import { AgentError, fieldOf, isInstance, messageOf } from "../../errors.ts";
import { Unavailable } from "../../ports/event-log.ts";

/** Does a work; an error names the thing that could not be copied. */
export async function named<Result>(thing: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const message = `${thing} cannot be copied: ${messageOf(error)}`;
    if (isInstance(error, AgentError)) {
      throw new AgentError(error.code, message, { ...error.details, cause: error });
    }
    // What a file system reports has a code.
    const isReported = isInstance(error, Unavailable) || typeof fieldOf(error, "code") === "string";
    throw isReported ? new Unavailable(message, { cause: error }) : error;
  }
}
