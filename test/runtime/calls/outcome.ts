import { AgentError } from "troupe";

/** What came of a call, as text: its result, or all fields of its error. */
export async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    return `result ${JSON.stringify(await call)}`;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const { code, agent, operation, callId, message } = error;
    return JSON.stringify({ code, agent, operation, callId, message });
  }
}
