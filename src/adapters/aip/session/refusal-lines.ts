import type { ErrorDetails } from "../../../errors.ts";

/** Why something was refused, in lines. Most messages name the first fault or all of them, and none is told twice. */
export function toRefusalLines(message: string, { issues = [], hint }: ErrorDetails): readonly string[] {
  const others = issues.filter((issue) => !message.includes(issue.message));
  const faults = others.map(({ path, message: fault }) => (path === "" ? fault : `${path}: ${fault}`));
  return [message, ...faults, ...(hint === undefined ? [] : [hint])];
}
