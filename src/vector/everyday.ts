/** Everyday wording, and the words that descriptions of tools use for the same thing. */
const SAID: readonly (readonly [said: RegExp, meant: string])[] = [
  // Memory
  [
    /\b(?:remember (?!to\b)(?:that|this|my|the|how|who|where|when|we|i)|keep in mind|bear in mind|don'?t forget|note (?:for later|to self|that)|make a (?:mental )?note|memori[sz]e)/,
    "store information in memory",
  ],
  [
    /\b(?:forget (?:what|about|that|everything|my|the|this|him|her|it)|(?:remove|delete|erase) .*\b(?:you (?:know|remember)|memory|memories))/,
    "delete information from memory",
  ],
  [
    /\b(?:what (?:do|did) (?:you|i|we) (?:know|remember|tell you|say)|do you (?:recall|remember|know) (?:what|who|anything|about|my|when|where)|(?:recall|remind me) (?:what|who|when|where|of|about))/,
    "search stored memory",
  ],
  // Files
  [
    /\b(?:save|store|write|put|dump) (?:this|that|it|the text|these|everything|my notes?)\b.*\b(?:as|to|into|in|under)\b.*(?:\bfile\b|\bdisk\b|\.\w{2,4}\b)|\bsave (?:this|that|it|the text) as\b/,
    "write content to a file",
  ],
  [
    /\b(?:where (?:did i (?:put|save)|have i (?:put|saved)|is (?:that|the|my) (?:file|letter|document|pdf|photo))|find (?:that|the|my|all|a) (?:\w+ )?(?:files?|pdfs?|photos?))\b/,
    "search for files",
  ],
  [/\b(?:make|create|add|need) (?:me )?(?:a |an )?(?:new |empty )*folder\b/, "create a directory"],
  [
    /\b(?:what(?:'s| is| do i have)|show|list|see)\b.*\b(?:folder|files here|directory|downloads|desktop)\b/,
    "list the files of a directory",
  ],
  [/\b(?:rename|put (?:this|that|the|my) \w+ (?:somewhere|elsewhere|away))/, "rename or move a file"],
  // The web
  [
    /\b(?:google (?!calendar|sheets?|drive|docs?|maps?|cloud|analytics)\w+|(?:on|from|over|across) the (?:internet|web|net)\b|\bonline\b.*\b(?:about|for|on)\b|(?:look|find) (?:it|this|that|something|me something) (?:up )?online)/,
    "search the web",
  ],
  [
    /\b(?:headlines|in the news|what(?:'s| is| has)? (?:happened|happening|going on) in the world|any news|latest news)\b/,
    "search news articles",
  ],
  [
    /\b(?:restaurants?|caf[eé]s?|coffee|pizza|shops?|hotels?|pharmacy|petrol|fuel)\b.*\b(?:near|nearby|around|close|here)\b/,
    "search local places nearby",
  ],
  [
    /\b(?:open|read|fetch|visit|check)\b.*\b(?:link|url|https?:)|\bwhat is (?:on|at) (?:that|this) (?:page|site|link)|https?:\/\/\S+.*\b(?:says?|about|for me)\b/,
    "fetch a web page and read its content",
  ],
  // Messages and calls
  [
    /^(?:please )?(?:text|sms)\b|\b(?:text message|sms|texts? (?:to )?(?:my|his|her|their|the) (?:phone|mobile|number|customer))\b/,
    "send an SMS text message",
  ],
  [
    /\b(?:ring|phone|give .* a (?:ring|call))\b|^call (?!the (?:tool|function|api))|\bcall (?:my|his|her|their) (?:number|phone|mobile)\b/,
    "make a phone call",
  ],
  [/\b(?:drop|shoot|write) (?:him|her|them|[a-z]+) (?:a line|an? e?-?mail)\b|^(?:e-?mail|mail)\b/, "send an email"],
  [
    /\b(?:tell|let|ping|notify|inform) (?:the )?(?:team|channel|everyone|everybody|group|colleagues|guys|folks)\b/,
    "post a message to a channel",
  ],
  [
    /\b(?:catch me up|what did i miss|what did (?:people|they|everyone) say|what was said|bring me up to (?:date|speed))\b/,
    "read the recent messages of a channel",
  ],
  [
    /\b(?:answer|reply|respond|write back)\b.*\b(?:thread|message|post|comment|him|her|them)\b/,
    "reply to a message in a thread",
  ],
  [
    /\b(?:thumbs? up|emoji|heart|like)\b.*\b(?:to|on|message|post)\b|\breact\b.*\b(?:with|to)\b/,
    "add an emoji reaction to a message",
  ],
  // The calendar
  [
    /\b(?:put|add|enter|pencil)\b.*\b(?:diary|calendar|agenda|schedule)\b|\b(?:set up|schedule|arrange|book) (?:a |an )?(?:meeting|appointment|call with)/,
    "create a calendar event",
  ],
  [
    /\b(?:am i|are we|is \w+|when am i|when are we) (?:free|busy|available)\b|\bwhen do (?:i|we) have time\b|\b(?:gap|slot|room|time) in (?:my|our|the) (?:schedule|calendar|diary|day|week)\b/,
    "get free and busy times of the calendar",
  ],
  [
    /\bwhat(?:'s| is| do i have| have i got)? (?:on|planned|up|in my (?:diary|calendar))\b.*\b(?:today|tomorrow|week|weekend|monday|tuesday|wednesday|thursday|friday)\b|\b(?:my|our|the) (?:agenda|appointments)\b|\bwhat's on\b/,
    "list calendar events",
  ],
  // Code and its hosts
  [
    /\bwhat(?:'s| has| is)? (?:changed|new|different)\b.*\b(?:since|repo|code|branch|yesterday|project|last|week)\b|\bwho (?:changed|committed|touched|wrote)\b/,
    "show the commit log and changes",
  ],
  [
    /\b(?:put|set|park|shelve|stow|push)\b.*\b(?:aside|unfinished|away for (?:now|later))\b|\bpark (?:the|my)\b/,
    "stash uncommitted changes",
  ],
  [
    /\b(?:save|record) (?:my|the|this|our) (?:work|progress|changes|edits)\b.*\b(?:git|repo|commit|message)\b/,
    "commit changes",
  ],
  [
    /\b(?:what|which)\b.*\b(?:touched|modified|uncommitted|not (?:yet )?committed|edited)\b|\bis (?:my|the) (?:working )?(?:tree|copy|repo) clean\b/,
    "show the working tree status",
  ],
  [
    /\b(?:open|file|raise|log|report|write up) (?:a|an|another|this|the)? ?(?:new )?(?:ticket|bug|defect|issue)\b/,
    "create an issue",
  ],
  [/\b(?:bug reports?|complain(?:ts?|ing)?|open (?:tickets|issues|bugs))\b/, "list issues"],
  [/\b(?:for review|merge request|a pr|the pr|prs?)\b/, "pull request"],
  [
    /\b(?:ci|pipeline|build)\b.*\b(?:again|rerun|restart|start|kick|trigger)|\b(?:again|rerun|restart|start|kick off|trigger|run)\b.*\b(?:ci|pipeline|build)\b/,
    "run a pipeline or workflow",
  ],
  [
    /\b(?:why|what)\b.*\b(?:build|ci|pipeline|job)\b.*\b(?:break|broke|broken|fail\w*|red|wrong)\b|\bwent wrong\b.*\b(?:build|ci|pipeline)\b/,
    "get build failure logs",
  ],
  [
    /\b(?:put|bring|get|take)\b.*\b(?:online|live)\b|\b(?:publish|release|ship) (?:the|my|our|this) (?:web)?(?:site|app|page|code)\b/,
    "deploy",
  ],
  [
    /\b(?:crash(?:es|ed)?|stack ?trace|exceptions?|errors?)\b.*\b(?:users?|app|production|week|today|error|crash)\b|\bstack ?trace\b/,
    "search error issues and events",
  ],
  [
    /\b(?:in|into|on|from|at) (?:the |a |my )?(?:terminal|shell|command line|console|bash)\b|\b(?:start|run) (?:a|the|this|my) script\b/,
    "run a shell command",
  ],
  // Looking, drawing, data
  [
    /\b(?:picture|photo|image|capture|snapshot|screenshot|look)s?\b.*\b(?:of|how)\b.*\b(?:web ?)?(?:page|site|homepage|screen|window|website)\b/,
    "take a screenshot of the page",
  ],
  [/\b(?:paint|draw|sketch|picture of|artwork|image from)\b/, "generate an image"],
  [/\b(?:plot|graph|diagram|visuali[sz]e|chart)\b/, "generate a chart"],
  [/\b(?:spreadsheet|workbook|xlsx?)\b/, "Excel sheet"],
  [/\b(?:row|entry|record|line)s?\b.*\b(?:table|sheet|base|customers?|database|db|crm)\b/, "create a record"],
  [/\b(?:new|add|enter|create)\b.*\b(?:lead|person|customer|contact)\b/, "create contact objects"],
  [/\b(?:toggles?|switch(?:es)?|feature switch(?:es)?)\b/, "feature flag"],
  [
    /\bhow (?:long|far)\b.*\b(?:drive|walk|ride|get|take|from)\b|\bthe way to\b|\broute\b/,
    "get directions and travel time",
  ],
  [
    /\b(?:think|reason|work)\b.*\b(?:step by step|through|carefully|it out)\b|\bbreak (?:it|this|the problem) down\b/,
    "think step by step",
  ],
  [
    /\bhow (?:do|does|can|should) (?:i|we|one|you|the)\b.*\b(?:use|work)|\b(?:the )?(?:docs?|documentation|manual|reference)\b (?:for|of|on)\b/,
    "look up documentation",
  ],
];

/** At most so many restatements of one request. */
const MOST = 3;

/** What a request asks for in the words of tools, where it is said in everyday words. */
export function restated(request: string): string[] {
  const said = request.toLowerCase().replaceAll("’", "'");
  return SAID.flatMap(([pattern, meant]) => pattern.test(said) ? [meant] : []).slice(0, MOST);
}
