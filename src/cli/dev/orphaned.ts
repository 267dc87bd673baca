/**
 * Calls `react` once when the npm script that started this process is gone. Returns a function that stops
 * watching. npm forwards a signal to the script's shell, which ends and usually does not forward it. With
 * another parent nothing happens, because it may leave the process running on purpose.
 */
export function onOrphaned(react: () => void): () => void {
  if (process.env["npm_lifecycle_event"] === undefined) return () => {};
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent && isThere(parent)) return;
    clearInterval(timer);
    react();
  }, LOOK_MS);
  return () => clearInterval(timer);
}

const LOOK_MS = 250;

/** Windows still reports the pid of a parent that is gone. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
