import { HeldSlot } from "../scheduler/slot-queue.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { SlotQueue } from "../scheduler/slot-queue.ts";
import type { ActorContext } from "../turn/actor-context.ts";

/** How a call gets its slot: `full` means that it must not wait. */
export type SlotAnswer = "begun" | "full" | "ended";

/**
 * Takes a slot for a call whose start is recorded just before, and waits for it if need be. The log says whether a call
 * waits: a record `Queued`, then `Begun` with the slot. So after a crash, a call that has not begun surely did nothing.
 * `wasQueued` says that the log has it waiting. Resolves after the commit.
 */
export async function takeSlot(
  { turn }: ActorContext,
  open: OpenCall,
  queue: SlotQueue,
  wasQueued: boolean,
): Promise<SlotAnswer> {
  const { recorder, runId, context } = turn;
  const { callId: call_id } = open;
  if (queue.take()) {
    hold(open, queue);
    if (wasQueued) recorder.record({ type: "Begun", call_id });
    return "begun";
  }
  // Below a held slot nothing waits, because two calls could then wait for each other.
  if (holdsSlot(open.parent) || queue.size >= context.limits.queuedCalls) return "full";
  if (!wasQueued) recorder.record({ type: "Queued", call_id });
  const isGiven = await new Promise<boolean>((resolve) => {
    const leave = queue.wait(runId, () => {
      hold(open, queue);
      resolve(true);
    });
    open.whenClosed(() => {
      leave();
      resolve(false);
    });
  });
  if (!isGiven || !open.open) return "ended";
  recorder.record({ type: "Begun", call_id });
  return "begun";
}

/** Gives a call that continues from the log its slot, above the limit if need be. */
export function retakeSlot(open: OpenCall, queue: SlotQueue): void {
  queue.retake();
  hold(open, queue);
}

/** The message of a call that gets no slot and must not wait for one. */
export function toOverloadMessage(name: string): string {
  return `${name} was not started: all its slots are taken, and too much waits for them`;
}

function hold(open: OpenCall, queue: SlotQueue): void {
  const slot = new HeldSlot(queue);
  open.slot = slot;
  open.whenClosed(() => slot.release());
}

function holdsSlot(call: OpenCall | undefined): boolean {
  for (let above = call; above; above = above.parent) if (above.slot) return true;
  return false;
}
