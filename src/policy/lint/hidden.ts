/** Tags outside of flag emoji, bidirectional overrides, control characters other than line ends and tabs. */
const TAGS = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}|([\u{e0000}-\u{e007f}])/gu;
const OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/;
// deno-lint-ignore no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
/** Characters of no width. One stands between letters of some scripts and in emoji; several in a row hide something. */
const NO_WIDTH = /[\u00ad\u034f\u180b-\u180e\u200b-\u200f\u2060-\u2064\ufeff]/;
const NO_WIDTH_ROW = /[\u00ad\u034f\u180b-\u180e\u200b-\u200f\u2060-\u2064]{3,}/;
/** So much blank space pushes the text behind it out of sight. */
const FAR = { blanks: 400, lines: 60 };
const INVISIBLE_HTML = /style\s*=\s*["'][^"']{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0)/i;

/** The reason if a text hides something from whoever reads it. */
export function hiddenText(text: string, isName: boolean): string | undefined {
  for (const [, tag] of text.matchAll(TAGS)) if (tag) return "it has tag characters, which nobody sees";
  if (OVERRIDES.test(text)) return "it has characters that change the order in which text is shown";
  if (CONTROLS.test(text)) return "it has control characters";
  if (NO_WIDTH_ROW.test(text) || (isName && NO_WIDTH.test(text))) return "it has characters without width";
  if (hasGap(text.trimEnd())) return "text follows after a large blank space";
  if (INVISIBLE_HTML.test(text)) return "it has HTML that is not shown";
}

function hasGap(text: string): boolean {
  for (const [blank] of text.matchAll(/\s+/g)) {
    if (blank.length >= FAR.blanks || blank.split("\n").length > FAR.lines) return true;
  }
  return false;
}
