import { joinFor, openFor } from "../subject.ts";
import type { EventLogSubject, Node } from "../subject.ts";

/** Opens an empty log for two nodes, for the duration of a test. */
export async function openTwo(subject: EventLogSubject): Promise<readonly [a: Node, b: Node]> {
  const join = subject.join?.bind(subject);
  if (join === undefined) throw new Error("nodes cannot share this log");
  const first = await openFor(subject);
  return [await joinFor(join, first), await joinFor(join, first)];
}
