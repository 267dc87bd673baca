import { Lexer } from "marked";
import type { Token, Tokens } from "marked";
import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";

/**
 * A text in markdown as elements. Nothing in it becomes HTML: tags and images are shown as text, and a link shows its
 * host. Of a text that grows, only what follows the last finished paragraph is read again. A text that nests deeper than
 * a person writes is shown as it is: the reader of markdown and the drawing have no limit but the stack.
 */
export function MarkdownBlocks({ text }: { readonly text: string }): VNode {
  const done = useRef<{ readonly text: string; readonly tokens: readonly Token[] }>({ text: "", tokens: [] });
  return useMemo(() => {
    if (!text.startsWith(done.current.text)) done.current = { text: "", tokens: [] };
    const { text: before, tokens } = done.current;
    const rest = readTokens(text.slice(before.length));
    if (rest === undefined) return <p class="plain">{text}</p>;
    // The last block can still change; those before it cannot, except that a list continues after empty lines.
    const kept = rest.slice(0, Math.max(0, rest.length - 2));
    const all = [...tokens, ...rest];
    if (kept.length > 0 && rest.at(-1)?.type !== "list") {
      done.current = { text: before + kept.map(({ raw }) => raw).join(""), tokens: [...tokens, ...kept] };
    }
    return <>{all.map(drawBlock)}</>;
  }, [text]);
}

/** The blocks of a text; `undefined` if they nest too deep. */
function readTokens(text: string): Token[] | undefined {
  let tokens: Token[];
  try {
    tokens = Lexer.lex(text);
  } catch {
    return undefined;
  }
  let level: readonly Token[] = tokens;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return undefined;
    level = level.flatMap((token) => {
      const { tokens: inner = [], items = [] } = token as Partial<Tokens.Generic & Tokens.List>;
      return [...inner, ...items];
    });
  }
  return tokens;
}

const DEEPEST = 64;

function drawBlock(token: Token, key: number): VNode | null {
  switch (token.type) {
    case "space":
      return null;
    case "heading": {
      const { tokens } = token as Tokens.Heading;
      return (
        <p key={key} class="md-heading" dir="auto">
          {drawAll(tokens)}
        </p>
      );
    }
    case "paragraph":
    case "text": {
      const { tokens, text } = token as Tokens.Paragraph;
      return (
        <p key={key} dir="auto">
          {(tokens as Token[] | undefined) === undefined ? text : drawAll(tokens)}
        </p>
      );
    }
    case "code":
      return (
        <pre key={key} class="code">
          {(token as Tokens.Code).text}
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{(token as Tokens.Blockquote).tokens.map(drawBlock)}</blockquote>;
    case "list":
      return drawList(token as Tokens.List, key);
    case "table":
      return drawTable(token as Tokens.Table, key);
    case "hr":
      return <hr key={key} />;
    default:
      return (
        <p key={key} class="plain" dir="auto">
          {token.raw}
        </p>
      );
  }
}

function drawList({ ordered, start, items }: Tokens.List, key: number): VNode {
  const lines = items.map((item, at) => (
    <li key={at} dir="auto">
      {item.task && (item.checked === true ? "☑ " : "☐ ")}
      {item.loose
        ? item.tokens.map(drawBlock)
        : item.tokens.map((token, index) =>
            token.type === "text" ? (
              <span key={index}>{drawAll((token as Tokens.Text).tokens ?? [token])}</span>
            ) : (
              drawBlock(token, index)
            ),
          )}
    </li>
  ));
  if (!ordered) return <ul key={key}>{lines}</ul>;
  return (
    <ol key={key} start={start === "" ? 1 : start}>
      {lines}
    </ol>
  );
}

function drawTable({ header, rows }: Tokens.Table, key: number): VNode {
  return (
    <div key={key} class="md-table" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, at) => (
              <th key={at}>{drawAll(tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, at) => (
                <td key={at}>{drawAll(tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function drawAll(tokens: readonly Token[]): (VNode | string)[] {
  return tokens.map(drawInline);
}

function drawInline(token: Token, key: number): VNode | string {
  switch (token.type) {
    case "strong":
      return <strong key={key}>{drawAll((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em key={key}>{drawAll((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del key={key}>{drawAll((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code key={key}>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return drawLink(token as Tokens.Link, key);
    case "escape":
      return (token as Tokens.Escape).text;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? text : <span key={key}>{drawAll(tokens)}</span>;
    }
    default:
      return token.raw;
  }
}

/** A link to another site, or to a place of the console; every other address is text. */
function drawLink({ href, raw, tokens }: Tokens.Link, key: number): VNode | string {
  const isPlace = href.startsWith("#/");
  const url = !isPlace && URL.canParse(href) ? new URL(href) : undefined;
  if (!isPlace && (url === undefined || !["http:", "https:", "mailto:"].includes(url.protocol))) return raw;
  const text = drawAll(tokens);
  if (url === undefined) {
    return (
      <a key={key} href={href}>
        {text}
      </a>
    );
  }
  const shown = url.protocol === "mailto:" ? url.pathname : url.host;
  return (
    <a key={key} href={url.href} target="_blank" rel="noreferrer noopener">
      {text}
      {!raw.includes(`[${shown}`) && raw !== href && <span class="second"> ({shown})</span>}
    </a>
  );
}
