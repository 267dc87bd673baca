import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** What is wrong with the links of a built site. */
export interface CheckedLinks {
  readonly pages: number;
  readonly faults: readonly string[];
}

/**
 * Follows every link of the pages in a folder. Each must lead to a file, and to an element if it names one; and nothing that a browser
 * loads by itself may come from another origin.
 */
export function checkLinks(folder: string): CheckedLinks {
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".html"))
    .sort();
  const ids = new Map<string, ReadonlySet<string>>();
  const idsOf = (file: string): ReadonlySet<string> => {
    const known = ids.get(file) ?? findIds(readFileSync(file, "utf8"));
    ids.set(file, known);
    return known;
  };
  const faults: string[] = [];
  for (const page of pages) {
    const html = readFileSync(join(folder, page), "utf8");
    for (const [, tag = "", attributes = ""] of html.matchAll(/<([a-z]+)\b((?:[^>"']|"[^"]*"|'[^']*')*)>/g)) {
      const [, address] = /\s(?:href|src)="([^"]*)"/.exec(attributes) ?? [];
      if (address === undefined || address.startsWith("data:")) continue;
      const isFollowedByPeople = tag === "a" || (tag === "link" && /rel="canonical"/.test(attributes));
      const url = new URL(address.replaceAll("&#38;", "&").replaceAll("&amp;", "&"), `http://site/${page}`);
      if (url.origin !== "http://site") {
        if (!isFollowedByPeople) faults.push(`${page} loads ${address}`);
        continue;
      }
      const path = join(folder, decodeURIComponent(url.pathname));
      const file = existsSync(path) && statSync(path).isDirectory() ? join(path, "index.html") : path;
      const id = decodeURIComponent(url.hash.slice(1));
      if (!existsSync(file)) faults.push(`${page}: ${address} leads nowhere`);
      else if (id !== "" && file.endsWith(".html") && !idsOf(file).has(id))
        faults.push(`${page}: ${relative(folder, file)} has no element ${id}`);
    }
  }
  return { pages: pages.length, faults };
}

function findIds(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id));
}
