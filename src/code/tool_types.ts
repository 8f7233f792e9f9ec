import { findTools, knownTools, resolveTool, serverVariables, type Session } from "../call/mod.ts";
import { createBreather, declarations, declaredMethod, identifier, type Tool, toolsDeclaration } from "../model/mod.ts";
import { MAX_DECLARATIONS, type TypeCheckRequest } from "../sandbox/mod.ts";

/** The most tools that an intent adds. */
const PICKED = 8;

/** The tools that code is written for: those it names, or those that fit what it is for. */
export async function chosenTools(
  session: Session,
  { intent, named }: { intent?: string | undefined; named?: readonly string[] | undefined },
): Promise<Tool[]> {
  const addresses = await Promise.all((named ?? []).map((name) => resolveTool(session, name)));
  const tools = await Promise.all(addresses.map(async ({ server, name }) => {
    const known = server === "agentcards" ? undefined : await session.known(server);
    return known?.tools.filter((tool) => tool.name === name) ?? [];
  }));
  const picked = intent === undefined || named
    ? []
    : (await findTools(session, { query: intent, limit: PICKED })).tools;
  return [...tools.flat(), ...picked.map(({ tool }) => tool)];
}

/** The tools to check code against: those of every server that it names, listed first where they are unknown. */
export async function typesFor(session: Session, code: string): Promise<TypeCheckRequest> {
  const names = session.status().map(({ config }) => config).filter(({ disabled }) => !disabled).map(({ name }) =>
    name
  );
  const { servers: variables } = serverVariables(session);
  const [declared, others]: [Tool[], string[]] = [[], ["agentcards"]];
  await Promise.all(names.map(async (name) => {
    const variable = identifier(name);
    const isMeant = variables.get(variable) === name && (speaksOf(code, variable) || code.includes(`${name}:`));
    const { tools } = isMeant ? await knownTools(session, name) : { tools: [] };
    if (tools.length > 0) declared.push(...tools);
    else others.push(name);
  }));
  return {
    code,
    declarations: `${await declaredInTurns(declared)}\n${toolsDeclaration(declared, others)}`,
    names: [...variables].filter(([, name]) => others.includes(name)).map(([variable]) => variable),
  };
}

/** The declarations of tools; other sessions are served meanwhile. Above the most that is checked it stops. */
async function declaredInTurns(tools: readonly Tool[]): Promise<string> {
  const breathe = createBreather();
  const methods = new Map<Tool, string>();
  let size = 0;
  for (const tool of tools) {
    if (size > MAX_DECLARATIONS) break;
    await breathe();
    const text = declaredMethod(tool);
    size += text.length;
    methods.set(tool, text);
  }
  return declarations([...methods.keys()], (tool) => methods.get(tool)!);
}

/** The servers that code may mean to call. */
export function serversSpokenOf(session: Session, code: string): string[] {
  return session.status().filter(({ config }) => !config.disabled).map(({ config }) => config.name)
    .filter((name) => speaksOf(code, identifier(name)) || code.includes(`${name}:`));
}

function speaksOf(code: string, variable: string): boolean {
  for (let at = code.indexOf(variable); at >= 0; at = code.indexOf(variable, at + 1)) {
    if (!/[\w$]/.test(code[at - 1] ?? "") && !/[\w$]/.test(code[at + variable.length] ?? "")) return true;
  }
  return false;
}
