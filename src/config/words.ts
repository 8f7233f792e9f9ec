/** The pairs of letters that make up most of English text, the most frequent first. */
const PAIRS = new Set(
  ("th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic " +
    "ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un " +
    "lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev " +
    "ld ry mp fe bl ab gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ef cu " +
    "rn sc gi da yo cr cl du ga ue ff ba ls va um pp ua up lu go ru ug pi au ck br rg sm pu ub je oj rk sk ks ak")
    .split(" "),
);
const RUN = /[A-Z]?[a-z]{3,}|[A-Z]{4,}/g;
const HEX = /^[\da-f-]+$/i;
/** The share of a run's pairs that are common ones, and the share of a text's letters that belong to such runs. */
const COMMON_SHARE = 0.75;
const WORD_SHARE = 1 / 3;

/**
 * True if words make up a good part of a text's letters. A word is a run of at least four letters, most of whose pairs are
 * common ones. Of random texts of letters and digits less than one in twenty passes.
 */
export function holdsWord(text: string): boolean {
  if (HEX.test(text)) return false;
  const letters = text.replace(/[^A-Za-z]/g, "").length;
  const words = (text.match(RUN) ?? []).filter(isWordLike).join("").length;
  return words > 0 && words >= letters * WORD_SHARE;
}

function isWordLike(run: string): boolean {
  const letters = run.toLowerCase();
  const pairs = Array.from({ length: letters.length - 1 }, (_, i) => letters.slice(i, i + 2));
  return pairs.filter((pair) => PAIRS.has(pair)).length >= pairs.length * COMMON_SHARE;
}
