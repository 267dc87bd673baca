import { editsBetween } from "../llm/ai-sdk/edits.ts";

/** The name that differs least from what was typed; `undefined` if none is near. */
export function closest(typed: string, names: readonly string[]): string | undefined {
  const [near] = names
    .map((name) => ({ name, edits: name.startsWith(typed) ? 1 : editsBetween(typed, name) }))
    .filter(({ edits }) => edits <= Math.max(1, typed.length / 3))
    .sort((a, b) => a.edits - b.edits);
  return near?.name;
}
