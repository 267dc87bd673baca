import { DatabaseSync } from "node:sqlite";
import { AgentError } from "../../../errors.ts";
import { createPrivateFile } from "../../fs/files.ts";
import { DirectoryInUse, toTrouble } from "../format/errors.ts";

/**
 * Takes a lock that ends with the process, even when it is killed: an open transaction on a small separate
 * database. It also excludes a second opener in the same process. Returns a function that releases it.
 */
export function takeLock(path: string): () => void {
  createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const cause = { cause: error };
    switch (toTrouble(error)) {
      case "busy":
        throw new DirectoryInUse("the data directory is in use by another process", cause);
      case "damaged":
        throw new AgentError("unavailable", `${path} is not a lock file of troupe`, {
          ...cause,
          hint: "remove the file if no process uses its directory; it holds no data",
        });
      default:
        throw error;
    }
  }
  return () => database.close();
}
