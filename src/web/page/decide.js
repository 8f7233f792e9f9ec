// Decisions about runs, and the questions that servers ask while they are carried out.
import { stream } from "./api.js";
import { Questions, useQuestions } from "./questions.js";
import { html, useState } from "./ui.js";

/** Sends a decision; questions that come meanwhile are shown in `question`. */
export function useDecision(onDone) {
  const [state, setState] = useState({ isBusy: false, error: undefined });
  const questions = useQuestions();
  async function decide(params) {
    setState({ isBusy: true, error: undefined });
    try {
      // The answer comes when the run ends or rests again: the page follows its events and does not wait.
      const deciding = stream("decide", params, { onQuestion: questions.put });
      const late = new Promise((resolve) => setTimeout(resolve, 1_500));
      await Promise.race([deciding, late]);
      deciding.then(onDone, (error) => setState({ isBusy: false, error }));
      setState({ isBusy: false, error: undefined });
      onDone();
    } catch (error) {
      setState({ isBusy: false, error });
    }
  }
  return { decide, ...state, question: html`<${Questions} questions=${questions} />` };
}
