/** Asks a yes-or-no question at the terminal; anything but yes is no. */
export async function confirm(question: string): Promise<boolean> {
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({ message: question, initialValue: false });
  return !isCancel(answer) && answer === true;
}
