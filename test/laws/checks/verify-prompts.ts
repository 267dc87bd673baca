import type { History } from "../history.ts";

/** Every completion, except those of agents on other servers, has the record of its prompt before its first attempt, and each such record continues an earlier one. */
export function checkPrompts({ entries }: History): readonly string[] {
  const faults: string[] = [];
  /** The actors by the numbers of their records. */
  const actors = new Map<number, string>();
  const asked = new Set<unknown>();
  const remote = entries.flatMap((entry) =>
    "n" in entry && entry.type === "RemoteCursor" ? [`${entry["scope"] as string}.`] : [],
  );
  for (const entry of entries) {
    if ("n" in entry) {
      if (entry.type !== "Prompt") continue;
      const base = entry["base"] as { readonly n: number } | undefined;
      const actor = entry["actor"] as string;
      const earlier = base && actors.get(base.n);
      // The requested agent continues the prompt of an earlier turn.
      const isKept = isTurn(actor) && earlier !== undefined && isTurn(earlier);
      if (base !== undefined && earlier !== actor && !isKept)
        faults.push(`the prompt ${entry.n} of ${actor} continues ${base.n} of ${String(earlier)}`);
      actors.set(entry.n, actor);
      asked.add(entry["call_id"]);
    } else if (entry.type === "CompletionCall" && entry.forked_from === undefined) {
      const isRemote = remote.some((scope) => entry.call_id.startsWith(scope));
      if (!isRemote && !asked.has(entry.call_id)) faults.push(`the prompt of ${entry.call_id} is missing`);
    }
  }
  return faults;
}

function isTurn(callId: string): boolean {
  return !callId.includes(".");
}
