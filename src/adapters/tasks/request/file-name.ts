import { unprocessable } from "../../../http/messages/wrong-field.ts";

/** The place of a file in the workspace of an agent. */
export interface FilePlace {
  readonly fileName: string;
  readonly relativePath: string | null;
}

const LENGTH_LIMIT = 1_024;
const FILE_NAME_LIMIT = 255;

/** Joins the name of a file, which a client chose, with its folder. Throws `unprocessable` for an unsafe folder. */
export function joinName(name: string | undefined, folder: string | undefined): string {
  const path = (folder ?? "").replace(/\/+$/, "");
  if (folder?.startsWith("/") === true || !isSafeFolder(path)) {
    const message = 'must be a relative path without "..", "\\" and control characters';
    throw unprocessable([{ path: "relative_path", message }]);
  }
  if (path.length > LENGTH_LIMIT) {
    throw unprocessable([{ path: "relative_path", message: `is longer than ${LENGTH_LIMIT} characters` }]);
  }
  const fileName = toFileName(name ?? "");
  return path === "" ? fileName : `${path}/${fileName}`;
}

/** Splits the name of a file. An agent can choose any name, so an unsafe folder is not shown to clients. */
export function splitName(name: string): FilePlace {
  const folder = name.slice(0, Math.max(name.lastIndexOf("/"), 0));
  const isShown = folder !== "" && isSafeFolder(folder);
  return { fileName: toFileName(name), relativePath: isShown ? folder : null };
}

/** The last part of a path of any system, without control characters. */
function toFileName(path: string): string {
  const name = path
    .replace(/[/\\]+$/, "")
    .replace(/^.*[/\\]/s, "")
    .replaceAll(CONTROL, "")
    .slice(0, FILE_NAME_LIMIT)
    .toWellFormed();
  return name === "" || name === "." || name === ".." ? "file" : name;
}

function isSafeFolder(path: string): boolean {
  if (path.startsWith("/") || path.includes("\\") || DRIVE.test(path)) return false;
  return path.search(CONTROL) === -1 && !path.split("/").includes("..");
}

const DRIVE = /^[A-Za-z]:/;
const CONTROL = /\p{Cc}/gu;
