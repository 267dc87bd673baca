import type { Usage } from "../protocol/events/events.ts";
import type { Draft } from "./fold.ts";

/** The sum of two usages, without a part of it that is already counted. */
export function addUsage(to: Usage, added: Usage, without: Usage = {}): Usage {
  const sum: Draft<Usage> = { ...to };
  for (const name of NAMES) {
    if (added[name] === undefined && without[name] === undefined) continue;
    sum[name] = (sum[name] ?? 0) + (added[name] ?? 0) - (without[name] ?? 0);
  }
  return sum;
}

const NAMES = ["input_tokens", "output_tokens", "cost"] as const;
