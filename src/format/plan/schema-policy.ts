// The parts of a policy that every layer may say: what a plan says under `policy`, and the files of organisation, user and project.

import { z } from 'zod'
import { COMMAND_RULES_MAX, COMMAND_WORDS_MAX } from '../../domain/limits.ts'
import { IMPACTS, policyKeys } from './schema-gates.ts'
import { word } from './schema-parts.ts'
import * as value from './schema-values.ts'

const rule = z
  .array(z.string().min(1).max(1_000))
  .min(1)
  .max(COMMAND_WORDS_MAX)
  .meta({ description: 'The words of a command; `*` in a word is any characters, `**` any further words.' })
const rules = z
  .array(rule)
  .max(COMMAND_RULES_MAX)
  .meta({ examples: [[['git', 'push', '**']]] })

export const commands = z
  .strictObject({
    allow: rules
      .optional()
      .meta({ description: 'May run; what is not named is denied then, unless `unknown` says otherwise.' }),
    ask: rules.optional().meta({ description: 'A person is asked first.' }),
    deny: rules.optional().meta({ description: 'Never run: the task fails.' }),
    unknown: z.enum(['allow', 'ask', 'deny']).optional().meta({ description: 'What no rule names.' }),
  })
  .meta({
    description: 'Commands by their words.',
    examples: [{ ask: [['git', 'push', '**']], deny: [['sudo', '**']] }],
  })

const permission = z.enum(['allow', 'deny']).optional()

export const data = z
  .strictObject({ models: permission, webhooks: permission, traces: permission, logins: permission })
  .meta({ description: 'What may leave this machine.', examples: [{ models: 'deny' }] })

export const sandbox = z.enum(['required', 'preferred', 'off']).meta({
  description:
    'Run commands in the sandbox: required, preferred (where this machine can) or off. Foreign plans always need it.',
})

/** What a layer around a plan demands. Who may decide is for the plan to say: it knows the people. */
const gates = z
  .strictObject({
    before: z.union([word(IMPACTS).transform(one => [one]), z.array(word(IMPACTS))]).optional(),
    unknown: z.enum(['ask', 'allow']).optional(),
    count: value.count(1_000).optional(),
    valid: value.duration.optional(),
  })
  .meta({ description: 'What is not begun before a person has seen it.', examples: [{ before: ['push', 'deploy'] }] })

export const layerKeys = {
  sandbox: sandbox.optional(),
  network: value.network.optional(),
  commands: commands.optional(),
  write: value.scope.optional(),
  read: value.scope.optional(),
  gates: gates.optional(),
  limits: policyKeys.limits,
  retention: policyKeys.retention,
  data: data.optional(),
}
