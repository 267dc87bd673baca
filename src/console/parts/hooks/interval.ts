import { useEffect } from "preact/hooks";

/** Calls a function from time to time while the page is in sight. It must be the same one as long as it is to go on. */
export function useInterval(act: () => void, everyMs: number): void {
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && act(), everyMs);
    return () => clearInterval(timer);
  }, [act, everyMs]);
}
