import { AgentError } from "../../../errors.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import type { RequestEntry } from "../../../ports/log-entries.ts";
import type { CallId } from "../../../protocol/ids.ts";
import type { InspectedCompletion } from "../../inspection.ts";
import { WHOLE } from "../../replay/prompts/new-prompt.ts";
import { readPrompt } from "../../replay/prompts/read-prompt.ts";

/** What a completion was asked; throws `not_found` if the log does not have it. */
export async function inspectCompletion(
  log: EventLog,
  entry: RequestEntry,
  callId: CallId,
): Promise<InspectedCompletion> {
  const { requestId, runId } = entry;
  const prompt = await readPrompt(log, entry, callId);
  if (prompt === undefined) {
    throw new AgentError(
      "not_found",
      `the log has no prompt of a completion ${callId} of request ${requestId}`,
      {
        hint: "prompts are kept unless the runtime has the option prompts: false",
      },
    );
  }
  const { record, messages, fields, cut } = prompt;
  const { [WHOLE]: input, instructions, tools, ...settings } = fields;
  return {
    run_id: runId,
    request_id: requestId,
    call_id: callId,
    agent: record.agent,
    attempt: record.attempt,
    ...(instructions !== undefined && { instructions }),
    messages,
    known_messages: record.keep,
    ...(tools !== undefined && { tools }),
    settings,
    ...(input !== undefined && { input }),
    cut,
  };
}
