// The keys of a policy that all layers share: `policy` in a plan, and the files of organisation, user and project.

import { z } from 'zod'
import { COMMAND_RULES_MAX, COMMAND_WORDS_MAX } from '../../domain/limits.ts'
import type { DataRules } from '../../domain/plan.ts'
import type { CommandRules } from '../../domain/policy/command-rules.ts'
import { optional, record } from './codec.ts'
import { layerGates, policyKeys } from './schema-gates.ts'
import * as value from './schema-values.ts'

const rule = z
  .array(z.string().min(1).max(1_000))
  .min(1)
  .max(COMMAND_WORDS_MAX)
  .describe('The words of a command; `*` in a word is any characters, `**` any further words.')
const rules = z
  .array(rule)
  .max(COMMAND_RULES_MAX)
  .meta({ examples: [[['git', 'push', '**']]] })

export const commands = record<CommandRules>()(
  {},
  {
    allow: optional(rules, 'May run; what is not named is denied then, unless `unknown` says otherwise.'),
    ask: optional(rules, 'A person is asked first.'),
    deny: optional(rules, 'Never run: the task fails.'),
    unknown: optional(z.enum(['allow', 'ask', 'deny']), 'What no rule names.'),
  },
).meta({
  description: 'Commands by their words.',
  examples: [{ ask: [['git', 'push', '**']], deny: [['sudo', '**']] }],
})

const permission = z.enum(['allow', 'deny']).optional()

export const data = record<DataRules>()(
  {},
  { models: permission, webhooks: permission, traces: permission, logins: permission },
).meta({ description: 'What may leave this machine.', examples: [{ models: 'deny' }] })

export const sandbox = z
  .enum(['required', 'preferred', 'off'])
  .describe(
    'Run commands in the sandbox: required, preferred (where this machine can) or off. Foreign plans always need it.',
  )

export const layerKeys = {
  sandbox: sandbox.optional(),
  network: value.network.optional(),
  commands: commands.optional(),
  write: value.scope.optional(),
  read: value.scope.optional(),
  gates: layerGates.optional(),
  limits: policyKeys.limits,
  retention: policyKeys.retention,
  data: data.optional(),
}
