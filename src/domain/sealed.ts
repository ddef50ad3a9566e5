// Is the definition of a plan whole and hashed? Tasks that are added one by one to a draft leave it unsealed; a revision with the
// same definition seals it.

import type { PlanState } from './state.ts'

export const isUnsealed = ({ hash }: Pick<PlanState, 'hash'>): boolean => hash === ''
