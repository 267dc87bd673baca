/**
 * Calls back once when a script of npm that this process was started by is gone; returns how to stop. npm passes
 * a signal on to the script's shell, which ends and mostly passes nothing on. Under another starter nothing
 * happens, since whoever leaves a process behind may mean it.
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

/** Windows goes on naming a parent that is gone. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
