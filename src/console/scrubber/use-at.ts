import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useConsole } from "../app/context.ts";
import { withQuery } from "../places/place.ts";

/**
 * The event as of which the run is shown, and how to change it. It is part of the address, which follows when the
 * scrubber rests: a browser ignores an address that changes too often.
 */
export function useAt(): readonly [at: number | undefined, setAt: (at: number | undefined) => void] {
  const { place, go } = useConsole();
  const inAddress = parseAt(place.query["at"]);
  const [at, setAt] = useState(inAddress);
  const newest = useRef(place);
  newest.current = place;
  // The address is written after a pause; when it changes to what was written here, the scrubber can be elsewhere.
  const written = useRef(inAddress);
  useEffect(() => {
    if (inAddress === written.current) return;
    written.current = inAddress;
    setAt(inAddress);
  }, [inAddress]);
  useEffect(() => {
    if (at === parseAt(newest.current.query["at"])) return undefined;
    const timer = setTimeout(() => {
      written.current = at;
      go(withQuery(newest.current, { at: at === undefined ? undefined : String(at) }), { replace: true });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [at, go]);
  return [at, useCallback((next: number | undefined) => setAt(next), [])];
}

const REST_MS = 150;

function parseAt(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
