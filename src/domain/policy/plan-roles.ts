// The people a plan names: who has which role, who reviews, whom it affects, and what its document claims about an approval. A claim is
// shown and counts for nothing: only an answer at a gate is an approval.

import type { PlanDefinition, Policy } from '../plan.ts'

const REVIEWER = 'reviewer'

/** `reviewers` of a plan alone have the role `reviewer`. */
export function rolesOf({ policy, reviewers }: Pick<PlanDefinition, 'policy' | 'reviewers'>): Policy['roles'] {
  return reviewers === undefined ? policy?.roles : { ...policy?.roles, [REVIEWER]: reviewers }
}

/** Null for a name that is no role of the plan. */
export function membersOf(definition: PlanDefinition, role: string): readonly string[] | null {
  const roles = rolesOf(definition)
  return roles !== undefined && Object.hasOwn(roles, role) ? roles[role]! : null
}

export interface PlanPeople extends Pick<PlanDefinition, 'reviewers' | 'impacted'> {
  /** `author`: who wrote the revision that says so. */
  readonly claims?: NonNullable<PlanDefinition['approval']> & { readonly author: string | null }
}

/** Null if the plan names no people. */
export function peopleIn({ reviewers, impacted, approval }: PlanDefinition, author: string | null): PlanPeople | null {
  if (reviewers === undefined && impacted === undefined && approval === undefined) return null
  return {
    ...(reviewers === undefined ? {} : { reviewers }),
    ...(impacted === undefined ? {} : { impacted }),
    ...(approval === undefined ? {} : { claims: { ...approval, author } }),
  }
}

/** The caller escapes the text. */
export function peopleLines({ reviewers = [], impacted = [], claims }: PlanPeople): readonly string[] {
  return [
    ...(reviewers.length === 0 ? [] : [`reviewers: ${reviewers.join(', ')}`]),
    ...(impacted.length === 0 ? [] : [`impacted: ${impacted.join(', ')}`]),
    ...(claims === undefined ? [] : [claimLine(claims)]),
  ]
}

function claimLine({ by, date, author }: NonNullable<PlanPeople['claims']>): string {
  const who = by === undefined ? 'approved' : `approved by ${by.join(', ')}`
  const when = date === undefined ? '' : ` (${date})`
  return `claimed, not an approval here: "${who}${when}", says the plan${author === null ? '' : ` written by ${author}`}`
}
