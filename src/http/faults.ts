import type { Telemetry } from "../ports/telemetry.ts";

/** Makes a function that reports what went wrong, each kind of fault at most once a second. */
export function createFaultReporter(
  telemetry: Pick<Telemetry, "fault">,
  now: () => number = () => performance.now(),
): (where: string, thrown: unknown) => void {
  const reportedAt = new Map<string, number>();

  return (where, thrown) => {
    const kind = `${where} ${kindOf(thrown)}`;
    const at = now();
    if (at - (reportedAt.get(kind) ?? -INTERVAL_MS) < INTERVAL_MS) return;
    // Names of errors come from agent code; a flood of different ones starts over.
    if (reportedAt.size >= KINDS_LIMIT) reportedAt.clear();
    reportedAt.set(kind, at);
    telemetry.fault(where, thrown);
  };
}

const INTERVAL_MS = 1_000;
const KINDS_LIMIT = 1_000;

function kindOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown;
  return thrown.cause instanceof Error ? `${thrown.name} of ${thrown.cause.name}` : thrown.name;
}
