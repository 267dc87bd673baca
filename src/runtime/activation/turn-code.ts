import { mayContinue } from "../../ports/agent-version.ts";
import type { HoldReason } from "../../protocol/events/outcome-codes.ts";
import type { Agent } from "../agent/agent.ts";
import type { AgentDirectory } from "../agent/agent-directory.ts";
import type { Candidate, TriedCode } from "../agent/candidate.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";

/** The code with which an open turn continues, or why there is none. */
export type TurnCode =
  | { readonly agent: Agent; readonly tried?: TriedCode | undefined }
  | { readonly agent?: undefined; readonly misfit: HoldReason; readonly tried?: TriedCode | undefined };

/**
 * Chooses the code of an open turn: the first candidate that may continue it and was not tried. Whether it can, its replay
 * shows, which has no effect.
 */
export async function chooseCode(
  agents: AgentDirectory,
  name: string,
  journal: TurnJournal,
  tried?: TriedCode,
): Promise<TurnCode> {
  let misfit = tried?.reason;
  for await (const candidate of agents.candidates(name)) {
    const reason = toMisfit(name, candidate, journal);
    if (reason !== undefined) {
      misfit ??= reason;
      continue;
    }
    try {
      const agent = await candidate.agent();
      if (tried?.agents.includes(agent) !== true) return { agent, tried };
    } catch (thrown) {
      misfit = withFailure(misfit ?? toMissing(name), candidate, thrown);
    }
  }
  return { misfit: misfit ?? toMissing(name), tried };
}

/** The reason why a turn whose agent is not served cannot continue. */
export function toMissing(name: string): HoldReason {
  return { code: "agent_missing", message: `agent ${name} is no longer served` };
}

/** The reason why a candidate must not be tried with a turn; `undefined` if it may be. */
function toMisfit(
  name: string,
  candidate: Candidate,
  { agentVersion: before, calls, scopes, isForked }: TurnJournal,
): HoldReason | undefined {
  // Who forks a run at a question wants the code of that time to ask it, and none from before.
  const isOther = isForked && candidate.from !== "served" && candidate.version !== before;
  if (!isOther && mayContinue(candidate, before)) return undefined;
  // Each version can begin a turn that has done nothing.
  if (!isOther && calls.size === 0 && scopes.size === 0) return undefined;
  const versions = `from version ${before ?? "(none)"} to ${candidate.version ?? "(none)"}`;
  return {
    code: "version_mismatch",
    message: `agent ${name} has changed ${versions} since the turn started`,
  };
}

function withFailure(reason: HoldReason, { version }: Candidate, thrown: unknown): HoldReason {
  const kept = `its kept version ${version ?? "(none)"} cannot be loaded: ${errorMessage(thrown)}`;
  return { ...reason, message: `${reason.message}; ${kept}` };
}
