// Which rules a plan is run by. `start` writes their number into the journal, and the plan keeps it to its end, so that its entries
// can be decided again as they were. A rule that decides differently from an earlier version raises `RULES`, asks `state.rules`, and
// leaves the earlier branch in place for plans that began with it. A plan with a number that is not in `KNOWN` cannot be run here.

/** The rules that plans are started with. */
export const RULES = 5

const KNOWN: ReadonlySet<unknown> = new Set([RULES])

export const knowsRules = (rules: unknown): boolean => KNOWN.has(rules)
