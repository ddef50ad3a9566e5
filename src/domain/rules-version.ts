// The version of the rules. `start` records it in the journal, and the plan keeps it, so that its entries can be replayed. A rule that
// decides differently from before raises `RULES`, checks `state.rules`, and keeps the old branch for older plans. A plan with a number that
// is not in `KNOWN` cannot be run here.

export const RULES = 6

/** From these rules on, what is learnt about a task is a note, and an outcome carries the words of the task that decided. */
export const LESSONS = 6

const KNOWN: ReadonlySet<unknown> = new Set([5, RULES])

export const knowsRules = (rules: unknown): boolean => KNOWN.has(rules)
