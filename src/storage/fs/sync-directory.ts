import { open } from "node:fs/promises";

/** Makes the names of new files survive a power failure, where the system can. */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
