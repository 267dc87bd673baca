import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import type { PageServer } from "./page-server.ts";

/** The schedules of all actors, or of one, as many as a page has. */
export async function readActorSchedules(
  server: PageServer,
  signal: AbortSignal,
  runId?: string,
): Promise<readonly ScheduleSummary[]> {
  const { json } = await server.ask("GET", "/schedules", { query: { limit: SHOWN, run_id: runId }, signal });
  return json as readonly ScheduleSummary[];
}

/** How many are read; the command line lists all. */
export const SHOWN = 100;
