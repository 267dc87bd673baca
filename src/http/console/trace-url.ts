import { AgentError } from "../../errors.ts";

/** What stands in the place of the id of a trace. */
const PLACE = "{trace}";

/** Reads the address of traces. Throws `invalid_request` for one that is no web page, or has no place for the id. */
export function parseTraceUrl(text: string): string {
  const filled = text.replaceAll(PLACE, "0".repeat(32));
  const isWeb = URL.canParse(filled) && /^https?:$/.test(new URL(filled).protocol);
  if (isWeb && text.includes(PLACE)) return text;
  const fault = isWeb ? `has no ${PLACE}` : "is not an address of http or https";
  throw new AgentError("invalid_request", `the address of traces ${JSON.stringify(text)} ${fault}`, {
    hint: `write where a trace is shown, with ${PLACE} for its id: http://localhost:16686/trace/${PLACE}`,
  });
}
