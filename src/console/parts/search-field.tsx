import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useConsole } from "../app/context.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";

interface SearchFieldProps {
  readonly place: ConsolePlace;
  readonly label: string;
  /** What the empty field says. Default: the label. */
  readonly hint?: string;
}

/** A search in a place, in its address as `q`. It begins when the person has stopped typing for a moment. */
export function SearchField({ place, label, hint = label }: SearchFieldProps): VNode {
  const { go } = useConsole();
  const { q = "" } = place.query;
  const [text, setText] = useState(q);
  useEffect(() => setText(q), [q]);
  useEffect(() => {
    if (text === q) return undefined;
    const timer = setTimeout(() => go(withQuery(place, { q: text }), { replace: true }), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text, q, place, go]);
  return (
    <input
      class="input search"
      type="search"
      data-search
      aria-label={label}
      placeholder={hint}
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
}

const TYPED_MS = 150;
