import { readFileSync } from "node:fs";

/** Reads the version of the installed package. */
export function readVersion(): string {
  const file = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(file) as { readonly version: string }).version;
}
