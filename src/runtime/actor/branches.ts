import { ReplayScope } from "../replay/scope.ts";
import { Sequence } from "./sequence.ts";
import { allSignature } from "../replay/signature.ts";

/** One of several parallel sequences. */
export type Branch = (sequence: Sequence) => unknown;

/** Runs branches of a sequence; the sequence itself does nothing until all have ended. */
export async function runBranches(
  sequence: Sequence,
  branches: readonly Branch[],
): Promise<readonly unknown[]> {
  const { actor, scope } = sequence;
  const { turn } = actor;
  const step = sequence.begin(allSignature(branches.length));
  if (step === undefined) return turn.over();
  const { callId, logged } = step;
  if (!logged) turn.recorder.record({ type: "All", call_id: callId, branches: branches.length });
  scope.branching = true;
  turn.activity.deactivate(scope.path);
  const ends = await Promise.allSettled(
    branches.map((branch, index) => runBranch(sequence, branch, `${callId}:${index}`)),
  );
  scope.branching = false;
  turn.activity.activate(scope.path);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  return ends.map((end) => (end as PromiseFulfilledResult<unknown>).value);
}

async function runBranch({ actor, scope: above }: Sequence, branch: Branch, path: string): Promise<unknown> {
  const { turn } = actor;
  const scope = new ReplayScope(path, turn.journal.items.get(path), above);
  turn.activity.begin(path, { above: above.path });
  try {
    return await branch(new Sequence(actor, scope));
  } finally {
    turn.activity.end(path);
    const divergence = scope.end();
    if (divergence && actor.call.open) turn.diverge(divergence);
  }
}
