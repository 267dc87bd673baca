import { countTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";

/**
 * Texts as one string. A log keeps them so in memory when no others can join them: a string for each text would be
 * copied by the garbage collector again and again.
 */
export interface PackedTexts extends Omit<Texts, "said"> {
  readonly count: number;
  /** `said` as JSON. */
  readonly packed: string;
}

/** Successive events in memory. */
export type KeptEvents = readonly (string | Texts | PackedTexts)[];

/** Packs texts, unless they are so few that nothing is saved. */
export function pack(texts: Texts): Texts | PackedTexts {
  const { speaker, ending, first, at, said } = texts;
  const count = countTexts(texts);
  return count < FEW ? texts : { speaker, ending, first, at, count, packed: JSON.stringify(said) };
}

export function unpack(kept: Texts | PackedTexts): Texts {
  if (!("packed" in kept)) return kept;
  const { speaker, ending, first, at, packed } = kept;
  return { speaker, ending, first, at, said: JSON.parse(packed) as (number | string)[] };
}

/** The number of events of an item. */
export function countOf(item: string | Texts | PackedTexts): number {
  if (typeof item === "string") return 1;
  return "packed" in item ? item.count : countTexts(item);
}

/** Texts that are not packed. */
const FEW = 8;
