import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { findBrowser } from "./find-browser.ts";
import { skipWithout } from "../../machine/skip-without.ts";

export interface TabOptions {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** Messages of the browser's console that the test expects. */
  readonly expected?: RegExp;
  /** The addresses of other origins that the page may ask. */
  readonly others?: readonly string[];
  /** How many pixels of the screen a pixel of the page has; 2 is a page at 200 %. */
  readonly zoom?: number;
  /** Whether pages can run scripts. Default true. */
  readonly scripts?: boolean;
  /** Shares cookies and storage with another tab. */
  readonly beside?: Tab;
}

/** A tab of a browser. When it is disposed, it fails if the page caused an error or asked another origin. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
}

/** Opens an address in a new tab. */
export type OpenTab = (skip: Skip, url: string, options?: TabOptions) => Promise<Tab>;

type Skip = (note: string) => never;

/**
 * The browser of this process, once a test needs it. The test files share it, because a start takes a second of CPU; it
 * ends with the process. Each tab has cookies and storage of its own.
 */
let browser: Promise<Browser> | undefined;

/** A function that opens tabs in the browser of this process. */
export function useBrowser(): OpenTab {
  return async (skip, url, options = {}) => {
    const {
      theme = "light",
      width = 1280,
      height = 800,
      zoom = 1,
      expected,
      beside,
      others = [],
      scripts = true,
    } = options;
    const executablePath = findBrowser();
    if (executablePath === undefined) {
      return skipWithout(skip, "needs Chromium or Chrome: install one (apt-get install chromium)");
    }
    browser ??= launch(executablePath);
    const context =
      beside?.context ??
      (await (
        await browser
      ).newContext({
        viewport: { width: Math.round(width / zoom), height: Math.round(height / zoom) },
        deviceScaleFactor: zoom,
        colorScheme: theme,
        javaScriptEnabled: scripts,
      }));
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    const faults: string[] = [];
    const origins = [url, ...others].map((address) => new URL(address).origin);
    page.on("pageerror", (error) => faults.push(`${error.message}\n${error.stack ?? ""}`));
    page.on("console", (message) => {
      const text = message.text();
      if (message.type() === "error" && expected?.test(text) !== true) faults.push(text);
    });
    page.on("request", (request) => {
      const asked = new URL(request.url());
      if (!origins.includes(asked.origin) && asked.protocol !== "blob:")
        faults.push(`a request to ${request.url()}`);
    });
    await page.goto(url);
    return {
      page,
      context,
      [Symbol.asyncDispose]: async () => {
        await page.close();
        if (beside === undefined) await context.close();
        if (faults.length > 0) throw new Error(`the page is at fault:\n${faults.join("\n")}`);
      },
    };
  };
}

/** Clicks a button that acts when it takes the click: it has been shown in its place for 500 ms. */
export async function press(button: Locator): Promise<void> {
  await button.scrollIntoViewIfNeeded();
  await settle(button);
  await button.click();
}

/** Presses Enter in a field when its form takes the key. */
export async function submit(field: Locator): Promise<void> {
  await settle(field.page().locator("form", { has: field }).locator("[type=submit]"));
  await field.press("Enter");
}

/** Waits until a button that acts takes an activation. */
export async function settle(button: Locator): Promise<void> {
  const page = button.page();
  // What was done last may move the button in the next frame.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  await button.and(page.locator(":not([aria-disabled])")).waitFor();
}

async function launch(executablePath: string): Promise<Browser> {
  const launched = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  // The next tab after a crash gets a new browser.
  return launched.once("disconnected", () => (browser = undefined));
}

/** Far more than any step takes, so that a loaded machine fails no test. */
const TIMEOUT_MS = Number(process.env["BROWSER_TIMEOUT_MS"] ?? 60_000);
