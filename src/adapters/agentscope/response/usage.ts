import type { Usage } from "../../../protocol/events/events.ts";
import type { UsageObject } from "../objects.ts";

/** The usage of a completion; null if its model reports none. */
export function toUsage(usage: Usage): UsageObject | null {
  return Object.keys(usage).length === 0 ? null : { ...usage };
}

/** The usage of two steps together. */
export function addUsage(total: UsageObject | null, usage: UsageObject | null): UsageObject | null {
  if (total === null || usage === null) return total ?? usage;
  const sums = new Map(Object.entries(total));
  for (const [name, count] of Object.entries(usage)) {
    sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return Object.fromEntries(sums);
}
