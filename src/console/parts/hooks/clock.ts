import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

/** The moment as of which everything below is shown, in milliseconds since 1970; `undefined` is now. */
export const MomentContext = createContext<number | undefined>(undefined);

/** The time in milliseconds since 1970; while `isRunning`, it is read again four times a second. In the past it is that moment. */
export function useNow(isRunning: boolean): number {
  const moment = useContext(MomentContext);
  const [now, setNow] = useState(Date.now);
  const isTicking = isRunning && moment === undefined;
  useEffect(() => {
    if (!isTicking) return undefined;
    const timer = setInterval(() => setNow(Date.now()), STEP_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return moment ?? now;
}

const STEP_MS = 250;
