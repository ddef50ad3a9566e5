// `checkpoint`: alone, or with a name.

import { z } from 'zod'
import { specOf } from '../../domain/actions/git-action.ts'
import type { Action } from '../../domain/plan.ts'
import { codec } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import type { ActionFormat } from './action-format.ts'

const checkpoint = codec(
  z.union([z.literal(true), value.checkpointName, z.strictObject({ name: value.checkpointName })]),
  written => (written === true ? {} : { name: typeof written === 'string' ? written : written.name }),
  ({ name = true }) => name,
).meta({ description: 'Takes a checkpoint: the state of the plan, all files and where git stands.', examples: [true] })

export const CHECKPOINT: ActionFormat<Extract<Action, { readonly type: 'checkpoint' }>> = {
  keys: { checkpoint },
  contents: {},
  read: ({ checkpoint }) => ({ type: 'checkpoint', ...(checkpoint as { readonly name?: string }) }),
  // Definitions of earlier releases are printed as they were written.
  print: action => ({ checkpoint: { name: specOf(action) ?? action.name } }),
  words: ({ name }, { code }) => (name === undefined ? 'takes a checkpoint' : `takes the checkpoint ${code(name)}`),
}
