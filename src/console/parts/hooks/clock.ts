import { useEffect, useState } from "preact/hooks";

/** The time in milliseconds since 1970; while `isRunning`, it is read again four times a second. */
export function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setNow(Date.now()), STEP_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}

const STEP_MS = 250;
