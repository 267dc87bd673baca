import { sha256 } from "../../shared/sha256.ts";

/** A plain page for a browser, in which nothing is loaded and no script runs. */
export interface HtmlPage {
  readonly title: string;
  /** What the page shows, as HTML. */
  readonly body: string;
  readonly status?: number;
}

/** Answers with a page. Its forms can only be sent to the server itself. */
export async function replyPage({ title, body, status = 200 }: HtmlPage): Promise<Response> {
  styleHash ??= await hashOf(STYLE);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${toHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${toHtml(title)}</h1>
${body}
</main>
</body>
</html>
`;
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [
      "default-src 'none'",
      `style-src 'sha256-${styleHash}'`,
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "cross-origin-opener-policy": "same-origin",
    // A form of a page without a referrer has no origin either, and would be refused.
    "referrer-policy": "same-origin",
  };
  return new Response(html, { status, headers });
}

/** A text as HTML shows it, also between quotes. */
export function toHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

let styleHash: string | undefined;

/** As a policy has it: base64 with its own signs. */
async function hashOf(text: string): Promise<string> {
  return `${(await sha256(text)).replaceAll("-", "+").replaceAll("_", "/")}=`;
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;margin:0}
main{max-width:36rem;margin:0 auto;padding:2rem 1rem}
h1{font-size:1.4rem}
label,legend{display:block;font-weight:600;margin-top:1rem}
input,select,textarea,button{font:inherit;padding:.4rem .6rem;max-width:100%;box-sizing:border-box}
input[type=text],input[type=number],textarea,select{width:100%}
fieldset{border:0;margin:0;padding:0}
fieldset label{font-weight:400;margin-top:.2rem}
button{margin-top:1.5rem;min-height:2.75rem;min-width:8rem}
pre{overflow:auto;background:#8882;padding:.6rem}
.fault{color:#c22}`;
