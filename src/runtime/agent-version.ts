import type { TurnError } from "../protocol/events.ts";
import type { Agent } from "./agent.ts";
import type { Journal } from "./journal.ts";

/** Why a turn cannot go on with the agent as it is now; `undefined` when it can. */
export function whyNot(
  name: string,
  agent: Agent | undefined,
  { agentVersion: before }: Journal,
): TurnError | undefined {
  if (agent === undefined) return { code: "interrupted", message: `agent ${name} is not served any more` };
  const { version: now, compatible } = agent;
  if (before === now || (before !== undefined && compatible.includes(before))) return undefined;
  const versions = `from version ${before ?? "(none)"} to ${now ?? "(none)"}`;
  return { code: "version_mismatch", message: `agent ${name} has changed ${versions} since the turn began` };
}
