import type { Session } from "./session.ts";
import { approve } from "./stages/approve.ts";
import { audit } from "./stages/audit.ts";
import { cache } from "./stages/cache.ts";
import { commit } from "./stages/commit.ts";
import { observe } from "./stages/observe.ts";
import { guard } from "./stages/guard.ts";
import { look, pin } from "./stages/pin.ts";
import { hidePersonalData } from "./stages/privacy.ts";
import { questions } from "./stages/questions.ts";
import { rules } from "./stages/rules.ts";
import { send } from "./stages/send.ts";
import type { Next, Stage } from "./stages/stage.ts";
import { trace } from "./stages/trace.ts";

/** The one way of every call of a session. A stage that is switched off is not in the list. */
export function createPipeline(session: Session): Next {
  const { traces } = session.shared;
  return compose([
    ...traces ? [trace(session, traces)] : [],
    audit(session),
    observe(session.observer),
    pin(session),
    ...session.privacy ? [hidePersonalData(session.privacy)] : [],
    rules(session),
    ...session.guardrails.length > 0 ? [guard(session.guardrails)] : [],
    // A task of a run may ask for approval where no rule does.
    approve(session),
    look(session),
    ...Object.keys(session.config.cache).length > 0 ? [cache(session)] : [],
    commit(session),
    questions(session),
    send(session),
  ]);
}

/** Stages as one function: each gets the rest of the list as its `next`. */
export function compose(stages: readonly Stage[]): Next {
  return stages.reduceRight<Next>(
    (next, stage) => (call) => stage(call, next),
    () => Promise.reject(new TypeError("The last stage must end the call")),
  );
}
