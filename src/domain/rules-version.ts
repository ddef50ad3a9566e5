// The version of the rules. `start` records it in the journal, and the plan keeps it, so that its entries can be replayed. A rule that
// decides differently from before raises `RULES`, checks `state.rules`, and keeps the old branch for older plans. A plan with a number that
// is not in `KNOWN` cannot be run here.

export const RULES = 5

const KNOWN: ReadonlySet<unknown> = new Set([RULES])

export const knowsRules = (rules: unknown): boolean => KNOWN.has(rules)
