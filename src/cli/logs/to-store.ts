import type { Store } from "../../node/copy/copy-log.ts";
import type { EventLog } from "../../ports/event-log.ts";

/** A log together with the files and secrets that belong to it. */
export function toStore(log: EventLog & Required<Pick<EventLog, "artifacts" | "secrets">>): Store {
  return { log, artifacts: log.artifacts(), secrets: log.secrets() };
}
