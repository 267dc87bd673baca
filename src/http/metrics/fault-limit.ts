import { fieldOf } from "../../errors.ts";

/** Creates a function that returns whether a fault must be reported: each kind at most once a second. */
export function createFaultLimit(
  now: () => number = () => performance.now(),
): (message: string, thrown: unknown) => boolean {
  const reportedAt = new Map<string, number>();

  return (message, thrown) => {
    const kind = `${message.replaceAll(NAMED, "$1")} ${kindOf(thrown)}`;
    const at = now();
    if (at - (reportedAt.get(kind) ?? -INTERVAL_MS) < INTERVAL_MS) return false;
    // Error names come from agent code; when there are too many, the map is cleared.
    if (reportedAt.size >= KINDS_LIMIT) reportedAt.clear();
    reportedAt.set(kind, at);
    return true;
  };
}

const INTERVAL_MS = 1_000;
const KINDS_LIMIT = 1_000;
const NAME_LENGTH = 100;

/** The run or request in a message does not change its kind. */
const NAMED = /\b(run|request) \S+/g;

function kindOf(thrown: unknown): string {
  const name = nameOf(thrown);
  const cause = nameOf(fieldOf(thrown, "cause"));
  if (name === undefined) return typeof thrown;
  return cause === undefined ? name : `${name} of ${cause}`;
}

/** The name of an error; `undefined` for any other value. */
function nameOf(thrown: unknown): string | undefined {
  const name = fieldOf(thrown, "name");
  return typeof thrown === "object" && typeof name === "string" ? name.slice(0, NAME_LENGTH) : undefined;
}
