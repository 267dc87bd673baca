import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { AgentError, defineAgent, defineTool, operation } from "troupe";
import type { Turn } from "troupe";
import { z } from "zod";

/** The most pages of one crawl. */
const MOST_PAGES = 200;

const report = z.object({
  pages: z.int(),
  words: z.int(),
  broken: z.array(z.object({ page: z.string(), from: z.string(), reason: z.string() })),
});

/**
 * Reads one page. At most two are read at once, and at most 50 in a second, over all crawls of the server. A page that
 * cannot be read in time is tried once more.
 */
const readPage = defineTool({
  name: "read_page",
  description: "Reads a Markdown file of the working directory: its words, and the pages that it links to.",
  input: z.object({ page: z.string() }),
  output: z.object({ words: z.int(), links: z.array(z.string()) }),
  effect: "idempotent",
  concurrency: 2,
  rate: { limit: 50, perMs: 1_000 },
  timeoutMs: 5_000,
  retry: { attempts: 2, on: ["timeout"] },
  async run({ page }) {
    if (!isInside(page)) throw new Error(`${page} is no Markdown file below the working directory`);
    const text = await readFile(page, "utf8").catch(() => {
      throw new Error(`there is no ${page}`);
    });
    return { words: text.split(/\s+/).filter(Boolean).length, links: linksIn(text, page) };
  },
});

/** Follows the links between Markdown files, and reports the ones that lead nowhere. */
export const crawler = defineAgent({
  name: "crawler",
  purpose:
    "Follows the links of Markdown files from a start page, counts their words and finds broken links.",
  tools: [readPage],

  async chat(input, turn) {
    const { pages, words, broken } = await crawl({ start: input.trim() || "README.md" }, turn);
    await turn.text(`${pages} pages with ${words} words.\n`);
    for (const { page, from, reason } of broken) await turn.text(`${from} links to ${page}: ${reason}\n`);
  },

  operations: {
    crawl: operation({
      description: "Crawls from a start page.",
      input: z.object({ start: z.string().default("README.md") }),
      output: report,
      run: crawl,
    }),
  },
});

async function crawl({ start }: { readonly start: string }, turn: Turn): Promise<z.infer<typeof report>> {
  const linkedFrom = new Map([[normalize(start), "the request"]]);
  const broken: { page: string; from: string; reason: string }[] = [];
  let words = 0;
  let pages = 0;
  let frontier = [...linkedFrom.keys()];
  while (frontier.length > 0) {
    const read = await Promise.all(
      frontier.map(async (page) => {
        try {
          return { page, ...(await turn.tool(readPage, { page })) };
        } catch (error) {
          if (!(error instanceof AgentError)) throw error;
          broken.push({ page, from: linkedFrom.get(page) ?? "", reason: error.message });
          return undefined;
        }
      }),
    );
    frontier = [];
    for (const found of read) {
      if (found === undefined) continue;
      pages += 1;
      words += found.words;
      for (const link of found.links) {
        if (linkedFrom.has(link) || linkedFrom.size >= MOST_PAGES) continue;
        linkedFrom.set(link, found.page);
        frontier.push(link);
      }
    }
  }
  return { pages, words, broken };
}

/** The Markdown files that a page links to, relative to the working directory. */
function linksIn(text: string, page: string): string[] {
  const links = [...text.matchAll(/\]\(([^()\s#:]+\.md)(?:#[^()\s]*)?\)/g)].map(([, link = ""]) =>
    normalize(join(dirname(page), link)),
  );
  return [...new Set(links)].filter(isInside);
}

function isInside(page: string): boolean {
  const path = normalize(page);
  return path.endsWith(".md") && !path.startsWith("..") && !path.startsWith("/") && !path.includes("\0");
}
