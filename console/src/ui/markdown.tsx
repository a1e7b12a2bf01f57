// Markdown as elements, without HTML: raw HTML and images stay text, and links lead to web and mail addresses only.

import { lexer, type Token, type Tokens } from "marked";
import { Fragment, h, type JSX, type VNode } from "preact";

const LINK = /^(?:https?:\/\/|mailto:)/i;
const MAX_CHARS = 200_000;

export function Markdown({ text }: { readonly text: string }): JSX.Element {
  return <div class="markdown">{blocks(lexer(text.slice(0, MAX_CHARS)))}</div>;
}

type Nodes = (VNode | string | null)[];

function blocks(tokens: readonly Token[]): Nodes {
  return tokens.map((token) => {
    switch (token.type) {
      case "heading":
        // The page has its own first headings.
        return h(`h${Math.min(6, (token as Tokens.Heading).depth + 2)}`, null, inlines(token.tokens));
      case "paragraph":
        return <p>{inlines(token.tokens)}</p>;
      case "code":
        return (
          <pre tabIndex={0}>
            <code>{(token as Tokens.Code).text}</code>
          </pre>
        );
      case "blockquote":
        return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
      case "list": {
        const { ordered, items, start } = token as Tokens.List;
        const entries = items.map((item) => <li>{blocks(item.tokens)}</li>);
        return ordered ? <ol start={start === "" ? 1 : start}>{entries}</ol> : <ul>{entries}</ul>;
      }
      case "table":
        return table(token as Tokens.Table);
      case "hr":
        return <hr />;
      case "space":
        return null;
      case "text":
        return token.tokens === undefined ? token.raw : <Fragment>{inlines(token.tokens)}</Fragment>;
      default:
        return token.raw;
    }
  });
}

function inlines(tokens: readonly Token[] = []): Nodes {
  return tokens.map((token) => {
    switch (token.type) {
      case "strong":
        return <strong>{inlines(token.tokens)}</strong>;
      case "em":
        return <em>{inlines(token.tokens)}</em>;
      case "del":
        return <del>{inlines(token.tokens)}</del>;
      case "codespan":
        return <code>{(token as Tokens.Codespan).text}</code>;
      case "br":
        return <br />;
      case "link": {
        const { href } = token as Tokens.Link;
        if (!LINK.test(href)) return token.raw;
        return (
          <a href={href} target="_blank" rel="noreferrer noopener">
            {inlines(token.tokens)}
          </a>
        );
      }
      case "text":
        return token.tokens === undefined ? (
          unescaped(token.raw)
        ) : (
          <Fragment>{inlines(token.tokens)}</Fragment>
        );
      case "escape":
        return (token as Tokens.Escape).text;
      default:
        return token.raw;
    }
  });
}

function table({ header, rows }: Tokens.Table): VNode {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell) => (
              <th>{inlines(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{inlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
