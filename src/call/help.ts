/** Pages about what an agent can do here; `search_tools {"query": "agentcards:help TOPIC"}` shows one. */
const PAGES: Readonly<Record<string, string>> = {
  workflows: `run_workflow {"tasks": [...]} runs every task as soon as what it needs is there.
Tool task: {"id": "a", "tool": "server:tool", "arguments": {...}, "depends_on"?: ["b"], "timeout_ms"?, "retries"?, "side_effects"?: true}
Code task: {"id": "sum", "type": "code_execution", "code": "return deps.a.output.length", "depends_on": ["a"], "context"?: {...}}
  deps.ID = {status, output, error}: code runs when its dependencies have settled, so it can work around failures. sandbox_config: {timeout, memoryLimit} bounds it.
Agent task: {"id": "review", "type": "agent", "agent": "claude", "prompt": "Review: $OUTPUT[diff]", "schema"?: {...}, "budget"?: {turns, minutes, usd}, "tools"?: [patterns], "model"?}: an agent program works on the prompt, with the tools of this gateway. Its output is its final text, or the JSON value that the schema asks for.
Any task: "when": "deps.a.output.count > 3" (CEL over deps.ID.{status,output,error} and input; an absent key is null): false skips it and what needs it. Tasks named there may have failed: "deps.a.status == 'error'" takes a failure up.
  "approve": "human": a human has to allow it first. Tool tasks that read: "until": {"when": "output.state == 'green'", "every_ms": 5000, "times": 60} calls again until it holds.
References: "$OUTPUT[a]" alone inserts the value, inside text it is written out; "$OUTPUT[a].items[0][\\"odd key\\"]" addresses into it; "$RESULT[handle]" a stored result; "$$OUTPUT[" is literal. A reference implies the dependency.
Only the ends (tasks that no other needs) come back; options.return: [ids] chooses others.
options: pause (never|layer|effects), pause_after: [ids], return: [ids], timeout_ms, concurrency, priority (1-5, 5 first), infer: true (fills in a missing required argument where one earlier output surely fits; the answer says which; without it such a task is proposed with the error), snapshot (true|false: files of the git repository are recorded around acting tasks, so that a person can undo them; by default where a server runs in the folder), check: NAME|{tool, arguments}|{code} (a task after all others that says whether what they did is right; NAME is a program that the user has configured), rollback: on_failure (the files are put back where the check fails).
status: completed (every end succeeded, or a when skipped it), partial, failed, paused, aborted; of a task: success, error, failed_safe (code that failed and had acted on nothing), skipped, in_doubt. What succeeded is kept; repair the rest with resume_workflow: retry {tasks?: [ids]}, replace {tasks} (same ids), inject {tasks}; remove {ids} takes out tasks that have not begun.
Saved workflows are tools: call_tool {"tool": "workflow:NAME", "arguments": {...}}; so do tasks and code. As a task its output is the answer of its run: "$OUTPUT[a].results.ID".`,
  code: `execute_code {"code": "..."} runs TypeScript; \`return\` gives the result, console.log comes back as logs.
Each server is a variable: await github.list_issues({...}); or tools["server:tool"](args). No files, no network, no imports of packages.
A call returns the tool's structured content, else its text parsed as JSON where it is JSON, else the text; several texts give an array; images give bytes (Uint8Array with mimeType). A tool's failure is thrown as ToolError (message, tool).
search_tools {"query": "...", "detail": "types"} shows the types. results.get(handle, ["path", 0]) reads a stored result, whole. context holds what was passed in.
Return {result, state} in a code task to leave state for later code tasks of the run (seen as context).
options: timeout_ms (30000), memory_mb (512), tools: [names], typecheck: true (refuse to run code whose types do not fit), cache: true (code that calls no tool).`,
  handles: `An answer above the token limit is stored; you get {handle, bytes, shape, preview}.
Read parts: call_tool {"tool": "agentcards:read_result", "arguments": {"handle": "r_...", "path"?: "items[0].name", "offset"?: 0, "limit"?: 100}}: items of a list, characters of a text. What does not fit is said, with the offset that reads on.
In workflow arguments "$RESULT[r_...].items[0]" inserts a part; in code await results.get("r_...") gives the whole value. Handles of workflows and code are read the same way. They live 7 days.`,
  pauses:
    `A run pauses after each layer, before effects or after named tasks if its options say so, and always where a call needs a human's approval, a server asks a question that nobody answered, or a call may or may not have happened (in_doubt).
The answer has pending: {reason, for, task, call, choices}. for "agent": you decide with resume_workflow {"workflow_id", "action"}.
  continue goes on; abort ends the run; inject {tasks} adds; replace {tasks} and remove {ids} change tasks that have not begun; replan {requirement} proposes tasks and adds none.
  in_doubt: find out whether the call happened, then resolve {"task", "outcome": "done"|"retry"|"skip", "value"?}.
for "human": only the user can decide, in the client's dialogue or at a terminal (agentcards approve ID, agentcards runs resume ID); then continue.
Every decision takes a note: the reason, kept with the run.
resume_workflow {"action": "status"} lists this session's runs and those of this folder that are unfinished or failed.`,
};

export const HELP_TOPICS: readonly string[] = Object.keys(PAGES);

/** The page on a topic; without one, or for an unknown one, the list of topics. */
export function helpPage(topic?: string): string {
  const wanted = topic?.trim().toLowerCase() ?? "";
  const name = HELP_TOPICS.find((one) => one === wanted || one === `${wanted}s`);
  if (name !== undefined) return PAGES[name]!;
  const list = `Topics: ${HELP_TOPICS.join(", ")}. search_tools {"query": "agentcards:help workflows"} shows a page.`;
  return wanted === "" ? list : `There is no page "${wanted.slice(0, 60)}". ${list}`;
}

const ASKED = /^\s*(?:agentcards[:\s]\s*help\b|help\s*$)\s*(\S*)/i;
const OWN = /^\s*(?:agentcards(?::\w*)?|read_result)\s*$/i;

/** The page that a search asks for; undefined where it asks for none. */
export function helpFor(query: string): string | undefined {
  const found = ASKED.exec(query);
  return found ? helpPage(found[1]) : OWN.test(query) ? ownTools() : undefined;
}

/** The tools of the server name `agentcards`, as a search shows tools. */
export function ownTools(): string {
  return [
    "agentcards:read_result(handle: string, path?: string, offset?: integer, limit?: integer) — Reads parts of a stored result.",
    `agentcards:help(topic?: ${
      HELP_TOPICS.map((topic) => JSON.stringify(topic)).join("|")
    }) — Explains how to use these tools.`,
  ].join("\n");
}
