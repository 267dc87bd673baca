import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import { typeOf } from "../../protocol/events/encode.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { NO_AGENT } from "../journal/system-runs.ts";
import { readAcknowledgement } from "../replay/accepted.ts";
import { toRunReceipt, unknownMessage } from "./messages.ts";
import type { RunMessage, RunReceipt } from "./messages.ts";

/**
 * The answer to a message whose effect is in the log already; `undefined` if it has had none. Messages that find their
 * own effect at every delivery are not looked for.
 */
export async function findEffect(
  log: EventLog,
  ledger: RunLedger,
  message: RunMessage,
): Promise<RunReceipt | undefined> {
  const { runId } = ledger;
  switch (message.kind) {
    case "turn":
      return findRequest(log, ledger, message.accepted.requestId);
    case "message":
      return findRequest(log, ledger, message.messageId);
    case "create":
      return ledger.begun ? repeated(runId, 0) : undefined;
    case "fork":
      return ledger.begun && ledger.agent !== NO_AGENT ? repeated(runId, message.after) : undefined;
    case "configure":
      return ledger.state.configured?.includes(message.id) === true
        ? repeated(runId, ledger.recorder.head)
        : undefined;
    case "uploaded": {
      const id = await findUpload(log, runId, message.artifact.artifactId);
      return id === undefined ? undefined : repeated(runId, id - 1);
    }
    case "resume":
      if (message.waitId !== undefined || message.resumeId !== undefined) return undefined;
      throw new AgentError("unavailable", "whether the answer has arrived is not known", {
        hint: "read the events, and name the wait with wait_id",
        retryAfterS: 1,
      });
    case "post":
    case "posts":
    case "letter":
    case "read":
    case "reply":
    case "redeliver":
    case "cancel":
    case "continue":
    case "schedules":
    case "recover":
    case "end":
    case "unstop":
    case "unnamed":
    case "remove":
    case "shorten":
      return undefined;
    default: {
      const never: never = message;
      throw unknownMessage(runId, never);
    }
  }
}

async function findRequest(
  log: EventLog,
  ledger: RunLedger,
  requestId: RequestId,
): Promise<RunReceipt | undefined> {
  // A new run has accepted nothing.
  if (!ledger.begun) return undefined;
  await ledger.committed();
  const entry = await log.lookup(requestId, ledger.owner);
  if (entry === undefined || entry.runId !== ledger.runId) return undefined;
  return { requestId, runId: ledger.runId, replayed: true, ...(await readAcknowledgement(log, entry)) };
}

/** The id of the event of an upload. */
async function findUpload(log: EventLog, runId: RunId, artifactId: ArtifactId): Promise<number | undefined> {
  for (let after = 0; ;) {
    const { events, head, base } = await log.read(runId, { after, limit: 10_000 });
    after = base?.head ?? after;
    for (const item of events) {
      after += countEvents([item]);
      if (typeof item !== "string" || typeOf(item) !== "ArtifactUploaded") continue;
      if ((JSON.parse(item) as { readonly artifact_id: string }).artifact_id === artifactId) return after;
    }
    if (events.length === 0 || after >= head) return undefined;
  }
}

function repeated(runId: RunId, after: number): RunReceipt {
  return { ...toRunReceipt(runId, after), replayed: true };
}
