// What tasks can be carried out here: each runner with what it says of itself, the schema of its action, and whether this machine has
// what it needs.

import type { Hint } from '../../domain/hint.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { ActionType, EffectClass } from '../../domain/plan.ts'
import { planJsonSchema } from '../../format/plan/json-schema.ts'
import type { ModelList } from '../../models/model.ts'
import type { KnownAgent, Runner } from '../../runners/runner.ts'
import type { DoctorPart, Finding } from './doctor.ts'

export interface Capability {
  /** The key that a task has for it. */
  readonly action: ActionType
  readonly does: string
  /** The classes its tasks have when they declare none. */
  readonly effects: readonly EffectClass[]
  readonly risks: readonly string[]
  /** What a dry run and an approval show. */
  readonly dryRun: string
  /** `partly`: it works, and something is weaker or missing; `why` says what. */
  readonly works: 'yes' | 'partly' | 'no'
  readonly why: string | null
  readonly repair: Hint | null
  /** JSON Schema of what stands under the key. */
  readonly schema: JsonObject
}

/** What of the machine a runner uses. Without a sandbox commands still run; the others do nothing without what they need. */
const NEEDS: { readonly [action in ActionType]?: readonly DoctorPart[] } = {
  run: ['sandbox', 'network'],
  git: ['git'],
  db: ['sqlite'],
  model: ['models'],
  agent: ['sandbox', 'network'],
}

export function capabilities(
  runners: Iterable<Runner>,
  machine: readonly Finding[],
  models: Pick<ModelList, 'default' | 'models'>,
  agents: readonly Pick<KnownAgent, 'status'>[],
): readonly Capability[] {
  const schemas = taskSchemas()
  const isNamed = models.default !== null || models.models.length > 0
  const findings = isNamed ? machine : [...machine, NO_MODEL]
  return [...runners].flatMap(({ action, about }) => {
    if (about === undefined) return []
    const needed = findings.filter(({ part }) => NEEDS[action]?.includes(part) === true)
    const isMissing = action === 'agent' && agents.every(({ status }) => status === 'missing')
    const lack = isMissing
      ? NO_AGENT
      : action === 'runner'
        ? NO_RUNNER
        : (needed.find(({ status }) => status === 'problem') ?? needed.find(({ status }) => status === 'warning'))
    return [
      {
        action,
        does: about.does,
        effects: about.effects,
        risks: about.risks,
        dryRun: about.dryRun,
        works:
          lack === undefined
            ? 'yes'
            : lack.status === 'warning' && (action === 'run' || action === 'agent')
              ? 'partly'
              : 'no',
        why: lack?.message ?? null,
        repair: lack?.repair ?? null,
        schema: (schemas[action] as JsonObject | undefined) ?? {},
      } satisfies Capability,
    ]
  })
}

const NO_AGENT: Pick<Finding, 'status' | 'message' | 'repair'> = {
  status: 'problem',
  message: 'no coding agent is installed',
  repair: 'install one, such as Claude Code, Codex or Gemini CLI',
}

/** Only a program that embeds Planfold brings any. */
const NO_RUNNER: typeof NO_AGENT = {
  status: 'problem',
  message: 'no custom runner is registered; only a program that embeds Planfold can register one',
  repair: null,
}

const NO_MODEL: Finding = {
  part: 'models',
  status: 'problem',
  message: 'no model is named in your settings',
  repair: 'set PLANFOLD_MODEL, or name one in your settings',
}

/** By the keys of a task. */
function taskSchemas(): JsonObject {
  const { properties } = planJsonSchema() as { readonly properties?: JsonObject }
  const { items } = (properties?.tasks ?? {}) as {
    readonly items?: { readonly $ref?: string; readonly properties?: JsonObject }
  }
  if (items?.properties !== undefined) return items.properties
  // A schema that holds itself stands apart.
  const { $defs = {} } = planJsonSchema() as {
    readonly $defs?: { readonly [name: string]: { readonly properties?: JsonObject } }
  }
  return $defs[items?.$ref?.split('/').at(-1) ?? '']?.properties ?? {}
}
