// `decide`: an expression that names the outcome.

import type { Action } from '../../domain/plan.ts'
import * as value from '../plan/schema-values.ts'
import { type ActionFormat, keyed } from './action-format.ts'

type Decide = Extract<Action, { readonly type: 'decide' }>

export const DECIDE: ActionFormat<Decide> = {
  ...keyed<Decide>('decide', {
    expression: ['decide', value.line.describe('An expression that yields the name of an outcome.')],
  }),
  words: ({ expression }, { code }) => `decides by ${code(expression)}`,
}
