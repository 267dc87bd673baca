import type { Usage } from "../protocol/events.ts";

/** What two completions cost together. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = (key: keyof Usage): Usage => {
    const total = (a[key] ?? 0) + (b[key] ?? 0);
    return a[key] === undefined && b[key] === undefined ? {} : { [key]: total };
  };
  return { ...sum("input_tokens"), ...sum("output_tokens"), ...sum("cost") };
}
