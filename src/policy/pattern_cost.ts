/** A text is read in windows of so many characters. */
const WINDOW = 288;
/** The ways in which the parts of a pattern with an end may divide one text among them. */
const MOST_WAYS = 200_000;
const MOST_OPEN_REPEATS = 3;
/** A part that may repeat so much more often is counted as one without an end. */
const OPEN_SPREAD = 32;

/** The ways in which a part of a pattern can match, and how many of its repeats have no end. */
interface Cost {
  readonly ways: number;
  readonly open: number;
}

const ONE: Cost = { ways: 1, open: 0 };
const PIECES = /\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\(\?<\w+>|\(\?:|\(|[)|]|[*+?]\??|\{\d+,?\d*\}\??|./gsu;

/**
 * Why a pattern may take for ever on a text made for it, as far as its form tells. A matcher that fails tries every way
 * in which the parts can divide the text, so the ways are counted: alternatives add up, parts in a row multiply, and a
 * part that is repeated is raised to the power of its repeats.
 */
export function slowness(source: string): string | undefined {
  if (/\\(?:[1-9]|k<)/.test(source)) return "references to groups are not supported";
  const pieces = [...source.matchAll(PIECES)].map(([piece]) => piece);
  let at = 0;
  let repeatsVarying = false;

  function alternatives(): Cost {
    let all = sequence();
    while (pieces[at] === "|") {
      at++;
      const next = sequence();
      all = { ways: all.ways + next.ways, open: Math.max(all.open, next.open) };
    }
    return all;
  }

  function sequence(): Cost {
    let row = ONE;
    while (at < pieces.length && pieces[at] !== "|" && pieces[at] !== ")") {
      const next = repeated(part());
      row = { ways: row.ways * next.ways, open: row.open + next.open };
    }
    return row;
  }

  function part(): Cost {
    const piece = pieces[at++]!;
    if (!piece.startsWith("(")) return ONE;
    const inner = alternatives();
    // The closing bracket; a pattern without it is refused by RegExp itself.
    at++;
    return inner;
  }

  function repeated(once: Cost): Cost {
    const repeat = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})/.exec(pieces[at] ?? "");
    if (!repeat) return once;
    at++;
    const [, sign, from, comma, to] = repeat;
    const least = sign === "+" ? 1 : sign ? 0 : Number(from);
    const most = sign === "?" ? 1 : sign ? Infinity : comma ? Number(to || Infinity) : least;
    if (most - least > OPEN_SPREAD) {
      if (once.ways > 1 || once.open > 0) repeatsVarying = true;
      return { ways: 1, open: 1 };
    }
    if (once.open > 0 && most > 1) repeatsVarying = true;
    let ways = 0;
    for (let count = least; count <= most && ways <= MOST_WAYS; count++) ways += once.ways ** count;
    return { ways, open: once.open };
  }

  const { ways, open } = alternatives();
  if (repeatsVarying) return "it repeats a group whose parts repeat or differ";
  if (open > MOST_OPEN_REPEATS) return `more than ${MOST_OPEN_REPEATS} of * + {n,}`;
  const isSlow = ways > MOST_WAYS || open > 0 && ways * WINDOW ** open > WINDOW ** MOST_OPEN_REPEATS * 8;
  return isSlow ? "its parts can divide one text in too many ways; give them fewer choices" : undefined;
}
