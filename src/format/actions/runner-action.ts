// `runner`: a runner registered by the embedding program, with its settings. Stored as written; `domain/actions/runner-action.ts`
// reads it.

import { z } from 'zod'
import type { Action } from '../../domain/plan.ts'
import { asWritten } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import { type ActionFormat, keyed } from './action-format.ts'

type Runner = Extract<Action, { readonly type: 'runner' }>

const runner = z.union([value.line, z.strictObject({ use: value.line, with: value.jsonObject.optional() })]).meta({
  description: 'Carried out by a runner that the program brings along; with is what it is told.',
  examples: [{ use: 'words', with: { file: 'README.md' } }],
})

export const RUNNER: ActionFormat<Runner> = keyed<Runner>('runner', { spec: ['runner', asWritten(runner)] })
