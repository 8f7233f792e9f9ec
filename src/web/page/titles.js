// The reasons of a pause in words.
const TITLES = {
  approval: "A call waits for your approval",
  question: "A server asks something",
  in_doubt: "A call may or may not have happened",
  sign_in: "A server wants a sign-in",
  layer: "It stopped after a layer, as it was asked to",
  after: "It stopped after a task, as it was asked to",
  effects: "It stopped before it acts on the world",
  restored: "It came out of a backup",
  waiting: "Its engine stopped",
};

export function titleOf(reason) {
  return TITLES[reason] ?? "It waits";
}
