import { isInstance } from "../../errors.ts";
import { Exit } from "../exit.ts";

/** What a check found. */
export interface Finding {
  /** What was checked, in a word. */
  readonly subject: string;
  readonly ok: boolean;
  /** Whether something is not there that only some projects need. */
  readonly absent?: true;
  readonly message: string;
  /** What mends it: mostly a command. */
  readonly fix?: string;
}

/**
 * What a check found when it failed with an explanation; throws anything else again. `otherwise` mends it if the explanation
 * does not say what does.
 */
export function toFinding(subject: string, thrown: unknown, otherwise?: string): Finding {
  if (!isInstance(thrown, Exit)) throw thrown;
  const [place = "", ...rest] = thrown.hint;
  const isStack = rest.length > 0 || /^\w*Error\b/.test(place);
  const fix = isStack || place === "" ? otherwise : place;
  return {
    subject,
    ok: false,
    message: isStack ? [thrown.message, place, ...rest].join("\n") : thrown.message,
    ...(fix !== undefined && { fix }),
  };
}

/** A warning as a fact and what mends it, which it names after a semicolon. */
export function toWarning(warning: string): Pick<Finding, "message" | "fix"> {
  const [message = "", fix] = warning.split("; ");
  return { message, ...(fix !== undefined && { fix }) };
}
