import { AgentError, isInstance } from "../../errors.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RunId } from "../../protocol/ids.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";
import { pagesOf } from "../../shared/pages.ts";
import type { WaitEntry } from "../../ports/log-entries.ts";
import { isSameBudget } from "../owners/budgets.ts";
import { readEvent } from "../replay/accepted.ts";
import type { HostContext } from "../run-context.ts";
import { sendMessage } from "../run/messages.ts";

/** Open questions that are read at once. */
const PAGE = 500;
const AT_ONCE = 8;

/**
 * Has the runs of an owner look again whose completions wait for a budget that was raised, on whichever nodes they are. Never
 * rejects: what it does not reach waits for an answer of its own, or for the end of the day.
 */
export async function announceRaise(
  context: Pick<HostContext, "environment" | "log" | "router" | "telemetry">,
  owner: string,
  budget: Budget,
): Promise<void> {
  const { environment, log, router, telemetry } = context;
  const failed = (error: unknown): void => {
    telemetry.fault(`runs of ${owner} that wait for a budget could not be told that it was raised`, error);
  };
  const asksForIt = async (wait: WaitEntry): Promise<boolean> => {
    const text = await readEvent(log, wait, wait.waitId).catch(ifGone);
    if (text === undefined) return false;
    const event = JSON.parse(text) as Event;
    return event.type === "WaitForInput" && event.budget !== undefined && isSameBudget(event.budget, budget);
  };
  try {
    const query = { owner, limit: PAGE };
    for await (const { waits } of pagesOf((start) => log.waits({ ...query, ...start }), environment)) {
      const waiting = new Set<RunId>();
      // oxlint-disable-next-line no-await-in-loop -- so that few are read at once
      await forEachConcurrent(waits, AT_ONCE, async (wait) => {
        if (await asksForIt(wait)) waiting.add(wait.runId);
      });
      // oxlint-disable-next-line no-await-in-loop -- those that have waited longest go on first
      await forEachConcurrent([...waiting], AT_ONCE, async (runId) => {
        await sendMessage(router, runId, { kind: "recover", isDue: true }).catch(failed);
      });
    }
  } catch (error) {
    failed(error);
  }
}

/** The run was removed in the meantime. */
function ifGone(error: unknown): undefined {
  if (isInstance(error, AgentError) && error.code === "gone") return undefined;
  throw error;
}
