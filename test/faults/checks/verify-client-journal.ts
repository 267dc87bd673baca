import { requestIdOf, typeOf } from "../../../src/protocol/events/encode.ts";
import type { Heard } from "../journal.ts";
import type { Evidence, Violation } from "./verify-log.ts";

/** Compares what the clients received with the log (I4). */
export function verifyClientJournal(
  { heard, history }: Evidence,
  accepted: ReadonlyMap<string, string>,
): Violation[] {
  const violations: Violation[] = [];
  for (const [requestId, mine] of groupByRequest(heard)) {
    const say = (what: string): void => {
      violations.push({ invariant: "I4", what: `request ${requestId}: ${what}` });
    };
    const run = history.runs.get(accepted.get(requestId) ?? "");
    const logged = run?.events.filter((text) => requestIdOf(text) === requestId) ?? [];
    if (run === undefined && mine.some(({ kind }) => kind !== "complaint"))
      say("its client knows it, the log does not");
    const received: string[] = [];
    for (const entry of mine) {
      switch (entry.kind) {
        case "event": {
          const { id, text } = entry;
          if (run?.events[id - 1] !== text) say(`its client has another event ${id}: ${text}`);
          if (text !== logged[received.length]) say(`its client got event ${id} out of its place`);
          received.push(text);
          break;
        }
        case "accepted":
        case "sent":
          break;
        case "resumed":
          if (
            !logged.some(
              (text) => text.includes(`"wait_id":${entry.waitId},`) && typeOf(text) === "ResumeWithInput",
            )
          ) {
            say(`the answer to wait ${entry.waitId} was taken and is not there`);
          }
          break;
        case "canceled":
          if (!logged.some((text) => typeOf(text) === "RequestCompleted"))
            say("its cancel was taken and it has no end");
          break;
        case "complaint":
          // A turn that was killed in three recoveries is ended, independent of its client.
          if (!logged.at(-1)?.includes('"code":"poisoned"')) say(entry.what);
          break;
        default: {
          const never: never = entry;
          throw new Error(`unknown entry ${String(never)}`);
        }
      }
    }
  }
  return violations;
}

function groupByRequest(heard: readonly Heard[]): Map<string, Heard[]> {
  const groups = new Map<string, Heard[]>();
  for (const entry of heard) {
    const group = groups.get(entry.requestId);
    if (group) group.push(entry);
    else groups.set(entry.requestId, [entry]);
  }
  return groups;
}
