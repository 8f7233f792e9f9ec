import type { Names } from "./names.ts";

/** An order that a text gives: about other tools, or any other. */
interface Order {
  readonly rule: "order_to_model" | "other_tool";
  readonly why: string;
}

interface Reading {
  readonly isOfArgument: boolean;
  readonly own: ReadonlySet<string>;
  readonly others: Names;
}

/** Up to so many characters within a sentence. */
const NEAR = "[^.!?\\n]{0,80}?";
const USER = "(?:the |your )?(?:end[- ]?)?(?:user|human|person|operator)s?\\b";

/** Phrases that an honest definition has no use for, with the reason that a person reads. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,30}\b(?:previous|prior|earlier|above|your|system|host'?s?|safety)\b[^.!?\n]{0,30}\b(?:instructions?|prompts?|rules?|guidelines?|polic(?:y|ies)|messages)\b/,
    "it tells the model to ignore its instructions",
  ],
  [/\bignore[_ ]previous[_ ]instructions/, "it tells the model to ignore its instructions"],
  [
    /\b(?:new|updated|secret|hidden) instructions?\s*:|\bsystem override\b|\bfrom now on,? (?:you|prefix|always|every)/,
    "it gives the model new instructions",
  ],
  [
    new RegExp(
      `\\b(?:do not|don'?t|never|must not|should not|without)\\b${NEAR}\\b(?:tell|mention|inform|notify|reveal|show|alert|disclos)\\w*\\b${NEAR}\\b${USER}`,
    ),
    "it tells the model to keep something from the user",
  ],
  [
    /\b(?:must not|do not|don'?t|never) (?:be )?mention(?:ed)?\b(?! of)[^.!?\n]{0,40}\b(?:read|file|this|that|it)\b|\bmust not be mentioned\b|\bhide (?:its|the|this|that) (?:result|output|call|argument)/,
    "it tells the model to keep something from the user",
  ],
  [
    /\b(?:secretly|silently|covertly)\b[^.!?\n]{0,30}\b(?:call|keep|send|pass|add|copy|include|forward|read|upload)\b/,
    "it asks for something to be done in secret",
  ],
  [
    new RegExp(
      `\\b(?:user|human) has (?:already )?(?:approved|confirmed|agreed|consented)|\\b(?:skip|bypass|suppress|avoid) (?:every|all|any|the|user) (?:confirmation|approval|permission)|\\b(?:do not|don'?t|never|must not) ask ${USER}${NEAR}(?:confirm|approv|permission)|\\bconfirm on (?:their|his|her|the user'?s) behalf|\\bwithout (?:asking|confirmation from) ${USER}`,
    ),
    "it speaks for the user or asks to skip a confirmation",
  ],
  [
    /<\/?(?:important|system|secret|instructions?|hidden|admin|assistant)>|\[\/?(?:inst|system)\]|<\|(?:im_start|system|user|assistant)\|?>?|^\s*(?:system|assistant)\s*:\s*\S|(?:\.\s|\n)\s*(?:system|assistant)\s*:\s+(?:you|i|the|understood)\b/,
    "it has markup or a role that a model takes for an instruction",
  ],
  [
    /(?:^|\n)#+\s*instructions? for (?:the )?(?:model|ai|assistant|llm|agent)\b|\b(?:attention|note|message|notice)(?: to| for)?,? (?:the )?(?:ai|llm|language model)(?: (?:assistant|agent|model))?\b\s*[:,]/,
    "it addresses the model past the user",
  ],
  [
    /\bas an ai(?: language)? model\b|\byou are (?:now )?(?:required|in (?:maintenance|developer|debug) mode)\b|\bhighest priority\b[^.!?\n]{0,40}$/,
    "it addresses the model past the user",
  ],
  [
    /<!--[^>]{0,300}\b(?:agent|assistant|model|ai|first|export|send|read|upload|call)\b|^\s*\[\/\/\]: # \(|\n?\[\/\/\]: # \([^)]{0,200}(?:assistant|agent|model|upload|send|read)/,
    "it has a comment that a model reads and a person does not see",
  ],
  [
    /\b(?:reveal|output|include|print|forward|repeat|paste|write down|pass|send)\b[^.!?\n]{0,50}\b(?:system prompt|hidden instructions|chain of thought)|^(?:your |the )?system prompt\b|\byour (?:reasoning and )?(?:all )?hidden instructions/,
    "it asks for the instructions of the model",
  ],
  [
    /\b(?:read|include|pass|paste|send|append|insert|export|contents? of|cat|upload|output)\b[^!?\n]{0,60}(?:~\/\.(?:ssh|aws|netrc|gnupg|kube|cursor|config\/gcloud)|\bid_rsa\b|\bid_ed25519\b|\/etc\/(?:passwd|shadow)|\.netrc\b|\bcursor\/mcp\.json|\.aws\/credentials)/,
    "it asks for a file with credentials",
  ],
  [
    /\b(?:contents?|values?) of (?:the )?\.env\b|\.env file of the project|<contents of /,
    "it asks for a file with credentials",
  ],
  [
    /\b(?:full|entire|complete|whole|all|every)\b[^.!?\n]{0,24}\b(?:conversation|chat|dialogue|session)\b(?: history)?[^.!?\n]{0,40}\b(?:verbatim|so far|as json|for personali[sz]ation)|\ball previous messages of this conversation|\b(?:every|all) previous tool results?\b|\bappend the full conversation|\bconversation so far,? verbatim/,
    "it asks for the whole conversation",
  ],
  [
    /\ball (?:api keys|tokens|passwords|secrets|credentials)\b[^.!?\n]{0,40}\b(?:appear|mentioned|conversation|earlier|you|environment)|\b(?:send|pass|include)\b[^.!?\n]{0,20}\buser'?s environment variables/,
    "it asks for credentials out of the conversation",
  ],
  [
    /\b(?:always|also|must|every|each|any|automatically)\b[^.!?\n]{0,50}\b(?:bcc|cc)\b[^!?\n]{0,30}@|\b(?:forward|send|upload|export|mirror|post)\b[^.!?\n]{0,60}\b(?:list of all contacts|all contacts|every file|the repository|all files|all file contents)/,
    "it sends data to somewhere else",
  ],
  [/\|\s*(?:ba|z)?sh\s*;?|\bcurl -s\S* https?:\S+ \|/, "it has a command that runs what it downloads"],
  [
    /\bchange (?:the )?(?:recipient|account|amount|iban|address)\b[^.!?\n]{0,30}\bto\b\s*[+a-z]{0,2}\d/,
    "it changes what the user asked for",
  ],
  [
    /\bverified by (?:anthropic|openai|google|microsoft)\b|\b(?:server|tool) is trusted\b|\bfollowed as instructions\b/,
    "it claims a trust that nobody gave",
  ],
  [
    /\b(?:company|security|organi[sz]ation'?s?) policy:|\badministrator requires that\b/,
    "it claims an authority that nobody gave",
  ],
  [
    /\b(?:must|always|need to|have to|required to|should|first)\b[^!?\n]{0,100}\b(?:read|send|pass|include|provide|append|access|upload|copy)\b[^!?\n]{0,80}(?:credential|password|private key|ssh key|api key|secret)s?\b/,
    "it asks for credentials",
  ],
  [
    /\b(?:send|forward|post|upload|transmit|exfiltrate|report|copy)\b[^.!?\n]{0,80}\b(?:to|at)\b[^.!?\n]{0,20}(?:https?:\/\/(?!localhost|127\.)|[\w.+-]{1,64}@[\w-]{1,64}\.\w|\+\d{7})/,
    "it sends data to somewhere else",
  ],
  [/\botherwise (?:the|this) tool (?:will|won'?t|can ?not|does)/, "it threatens the model with a failure"],
  [
    /\b(?:system|developer|admin(?:istrator)?) (?:message|instruction|notice|command|directive)s?\s?:/,
    "it has markup or a role that a model takes for an instruction",
  ],
  [
    /\b(?:not visible|invisible|not shown|hidden) (?:to|from) (?:the )?(?:user|human)/,
    "it tells the model to keep something from the user",
  ],
  [/\brm -rf\b|\bchmod (?:777|-r)\b/, "it has a destructive command"],
];

/** What an honest definition says only of tools of its own server. */
const TOOL_ORDERS: readonly RegExp[] = [
  /\bbefore (?:any|every|each)\b[^.!?\n]{0,12}\b(?:call|use)s?\b/,
  /\b(?:must|has to|should) be (?:called|executed|used|run) (?:before|at the beginning of|first for) (?:every|each|any|all)\b/,
  /\b(?:every|each|any) time you (?:use|call)\b/,
  /\b(?:when|whenever|if)\b[^.!?\n]{0,40}\b(?:tool|server|`?\w+[:_]\w+`?)\b[^.!?\n]{0,40}\b(?:is used|is called|returns|are used)\b[^.!?\n]{0,40}\b(?:always|set|store|also|change|replace)\b/,
  /\b(?:never|do not|don'?t|not allowed to) use\b[^.!?\n]{0,40}\b(?:any ?more|again|it is broken)|\bdo not use `?\w+:\w+`?;? it is\b/,
  /\b(?:when|whenever|if|every time|each time|after|before)\b[^.!?\n]{0,60}\b(?:other|another|any) tools?\b[^.!?\n]{0,80}\b(?:must|always|never|should|required)\b/,
  /\b(?:this tool|it) (?:replaces|supersedes|overrides)\b[^.!?\n]{0,60}\b(?:all|other|any|built-in)\b/,
  /\bnever use it again\b|\bdeprecated and insecure\b|\beven if the user asks\b|\bregardless of what the user\b/,
  /\b(?:always )?prefer this (?:tool )?over (?:all|any|every) other\b|\buse this tool first for every\b/,
  /\bside effects? on `?\w+/,
  /\b(?:you must|must also|always) (?:also |first )?call `?\w+_?\w*`?[^.!?\n]{0,60}\b(?:and hide|on (?:\/|~)|with the (?:complete|full|results)|to https?:)/,
  /\bwhen sending messages with\b|\breturned by the tool\b[^.!?\n]{0,40}\bhas to be\b|\ball payments\b/,
  /\bwhen the user asks to\b[^.!?\n]{0,40}\banother tool\b/,
  /\bthis tool must be called before\b/,
];

/** The reason if a text gives an order to the model. */
export function orderToModel(text: string, { isOfArgument, own, others }: Reading): Order | undefined {
  const plain = text.normalize("NFKC").replace(INVISIBLE, "").replace(SPACES, oneSpace).toLowerCase();
  for (const [phrase, why] of PHRASES) if (phrase.test(plain)) return { rule: "order_to_model", why };
  if (!isOfArgument) {
    for (const phrase of TOOL_ORDERS) {
      if (phrase.test(plain)) return { rule: "other_tool", why: "it tells the model how to use other tools" };
    }
    const foreign = namedTool(text, own, others);
    if (foreign && /\b(?:must|always|never|instead|first|whenever|do not|every time)\b/.test(plain)) {
      return { rule: "other_tool", why: `it gives an order about ${foreign}` };
    }
  }
  const decoded = encodedText(text);
  if (decoded && decoded !== text) {
    const order = orderToModel(decoded, { isOfArgument, own, others });
    if (order) return { ...order, why: `${order.why}, in an encoded text` };
  }
}

const INVISIBLE = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/g;
/** Rows of blanks become one, so that no phrase takes more than linear time over them. */
const SPACES = /\s+/g;
const oneSpace = (spaces: string) => spaces.includes("\n") ? "\n" : " ";

/** A tool of another server that a text names as `server:tool`. */
function namedTool(text: string, own: ReadonlySet<string>, others: Names): string | undefined {
  for (const [id, server = "", tool = ""] of text.matchAll(/\b([a-z][\w-]{1,40}):([a-z]\w{2,60})\b/gi)) {
    if (own.has(tool)) continue;
    if (others.servers.has(server) && others.tools.has(tool)) return id;
  }
}

const ENCODED = /[A-Za-z0-9+/]{48,4000}={0,2}/;

function encodedText(text: string): string | undefined {
  const [found] = ENCODED.exec(text) ?? [];
  if (!found) return undefined;
  try {
    const decoded = atob(found.slice(0, found.length - found.length % 4));
    // deno-lint-ignore no-control-regex
    return /^[\x09\x0a\x0d\x20-\x7e]{24,}$/.test(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}
